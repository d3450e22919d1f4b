/* A CUDA driver of a GPU that is not there: memory is the host's, everything is done as soon as it is asked for, and a
   kernel is handed to whoever has called on_launch. What is not below is done by doing nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef void *Handle;
typedef struct { unsigned grid[3], block[3], shared; Handle stream, attributes; unsigned count; } Config;
typedef void (*Launched)(const char *name, void **parameters, unsigned blocks, unsigned threads, Handle stream);

static char context[1], library[1];
static __thread Handle stack[64];
static __thread int top;
static Launched launched;

void on_launch(Launched who) { launched = who; }

static Result nothing(void) { return 0; }

Result cuInit(unsigned flags) { return 0; }
Result cuDriverGetVersion(int *version) { *version = 13000; return 0; }
Result cuDeviceGetCount(int *count) { *count = 1; return 0; }
Result cuDeviceGet(int *device, int number) { *device = number; return number ? 101 : 0; }
Result cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "stand-in"); return 0; }
Result cuDeviceTotalMem_v2(size_t *size, int device) { *size = 1ul << 33; return 0; }
Result cuMemGetInfo_v2(size_t *spare, size_t *size) { *spare = *size = 1ul << 33; return 0; }
Result cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, 7, 16); return 0; }

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 1: *value = 1024; break;           /* threads of a block */
    case 8: *value = 49152; break;          /* its shared memory */
    case 10: *value = 32; break;            /* threads of a warp */
    case 16: *value = 132; break;           /* multiprocessors */
    case 41: case 76: *value = attribute == 41; break; /* one address space; 9.0 */
    case 75: *value = 9; break;
    default: *value = attribute < 8 ? 1 << 16 : 0;
    }
    return 0;
}

Result cuDevicePrimaryCtxRetain(Handle *found, int device) { *found = context; return 0; }
Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; *active = 1; return 0; }
Result cuCtxGetCurrent(Handle *found) { *found = top ? stack[top - 1] : NULL; return 0; }
Result cuCtxSetCurrent(Handle given) { if (!top) top = 1; stack[top - 1] = given; return 0; }
Result cuCtxPushCurrent_v2(Handle given) { stack[top++] = given; return 0; }
Result cuCtxPopCurrent_v2(Handle *found) { if (!top) return 201; *found = stack[--top]; return 0; }
Result cuCtxGetDevice(int *device) { *device = 0; return top ? 0 : 201; }
Result cuCtxGetApiVersion(Handle given, unsigned *version) { *version = 13000; return 0; }

static Handle copy(const char *name) { return strdup(name); }
Result cuLibraryLoadData(Handle *found, const void *code, Handle a, Handle b, unsigned c, Handle d, Handle e, unsigned f) {
    *found = malloc(1);
    return 0;
}
Result cuLibraryGetKernel(Handle *kernel, Handle from, const char *name) { *kernel = copy(name); return 0; }
Result cuKernelGetFunction(Handle *function, Handle kernel) { *function = kernel; return 0; }
Result cuKernelGetName(const char **name, Handle kernel) { *name = kernel; return 0; }
Result cuKernelGetLibrary(Handle *found, Handle kernel) { *found = library; return 0; }
Result cuModuleLoadDataEx(Handle *found, const void *image, unsigned n, Handle a, Handle b) { *found = malloc(1); return 0; }
Result cuModuleGetFunction(Handle *function, Handle from, const char *name) { *function = copy(name); return 0; }
Result cuFuncGetAttribute(int *value, int attribute, Handle function) { *value = attribute ? 32 : 1024; return 0; }

static Result launch(Handle kernel, void **parameters, unsigned blocks, unsigned threads, Handle stream) {
    if (launched) launched(kernel, parameters, blocks, threads, stream);
    return 0;
}
Result cuLaunchKernelEx(const Config *config, Handle kernel, void **parameters, void **extra) {
    return launch(kernel, parameters, config->grid[0], config->block[0], config->stream);
}
Result cuLaunchKernel(Handle kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned b, unsigned c,
                      unsigned shared, Handle stream, void **parameters, void **extra) {
    return launch(kernel, parameters, x, threads, stream);
}

Result cuGetErrorName(int error, const char **text) { *text = "an error"; return 0; }
Result cuGetErrorString(int error, const char **text) { *text = "an error of the stand-in"; return 0; }
Result cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long flags, int *status) {
    char newer[128];
    Handle here = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    snprintf(newer, sizeof newer, "%s_v2", name);
    *found = dlsym(here, newer);
    if (!*found) *found = dlsym(here, name);
    if (!*found) *found = nothing;
    if (status) *status = 0;
    return 0;
}
Result cuGetProcAddress(const char *name, void **found, int version, unsigned long flags) {
    return cuGetProcAddress_v2(name, found, version, flags, NULL);
}
