/* hold.exe FILE MILLISECONDS: has a file open that others may read and not replace, as scanners and editors do. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

int main(int argc, char **argv) {
    HANDLE file;
    if (argc != 3) return 2;
    file = CreateFileA(argv[1], GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return 1;
    puts("held");
    fflush(stdout);
    Sleep(atoi(argv[2]));
    CloseHandle(file);
    return 0;
}
