/* end.exe FILE PROGRAM...: starts a program and ends it from outside, as the Task Manager does, as soon as a file is there. */
#include <process.h>
#include <windows.h>

int main(int argc, char **argv) {
    HANDLE program;
    if (argc < 3) return 2;
    program = (HANDLE)_spawnv(_P_NOWAIT, argv[2], (const char *const *)argv + 2);
    if (program == INVALID_HANDLE_VALUE) return 1;
    while (GetFileAttributesA(argv[1]) == INVALID_FILE_ATTRIBUTES)
        if (WaitForSingleObject(program, 5) == WAIT_OBJECT_0) return 3;
    if (!TerminateProcess(program, 1)) return 4;
    WaitForSingleObject(program, INFINITE);
    return 0;
}
