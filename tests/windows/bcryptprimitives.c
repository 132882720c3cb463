/* Wine 8 has no bcryptprimitives.dll, from which Rust's standard library takes random bytes; newer ones do. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T size) {
    return RtlGenRandom(bytes, (ULONG)size);
}
