// A Vulkan layer under which devices are lost: the submission of a given number is answered with VK_ERROR_DEVICE_LOST, or is
// taken and whoever waits for it gets that answer. From then on the device answers so to every submission, wait and question,
// until it is destroyed, as Vulkan asks of a lost device. The next device of the process is a good one.
//
// KILN_LOSE_AT   submit:N or wait:N, counted from 1 over all devices of the process
//
// Only what the layer needs of Vulkan's headers is declared here, so that it builds where there are none.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { LOADER_INSTANCE_CREATE_INFO = 47, LOADER_DEVICE_CREATE_INFO = 48, LAYER_LINK = 0, ERROR_DEVICE_LOST = -4 };

typedef void (*Function)(void);
typedef Function (*GetProcAddr)(void *, const char *);

typedef struct InstanceLink { struct InstanceLink *next; GetProcAddr instance; GetProcAddr physical; } InstanceLink;
typedef struct DeviceLink { struct DeviceLink *next; GetProcAddr instance; GetProcAddr device; } DeviceLink;
typedef struct Chain { int type; const struct Chain *next; int function; void *link; } Chain;
typedef struct CreateInfo { int type; const Chain *next; } CreateInfo;
typedef struct Negotiate { int type; void *next; uint32_t version; GetProcAddr instance, device, physical; } Negotiate;

static GetProcAddr next_instance, next_device;
static void *device_now;
static int is_lost, submissions;

static Chain *link_of(const CreateInfo *info, int type) {
    const Chain *at = info->next;
    while (at && !(at->type == type && at->function == LAYER_LINK)) at = at->next;
    return (Chain *)at;
}

static int create_instance(const CreateInfo *info, const void *allocator, void **instance) {
    Chain *chain = link_of(info, LOADER_INSTANCE_CREATE_INFO);
    if (!chain) return -3;
    InstanceLink *link = chain->link;
    chain->link = link->next;
    next_instance = link->instance;
    int (*create)(const CreateInfo *, const void *, void **) = (void *)next_instance(NULL, "vkCreateInstance");
    return create(info, allocator, instance);
}

static int create_device(void *physical, const CreateInfo *info, const void *allocator, void **device) {
    Chain *chain = link_of(info, LOADER_DEVICE_CREATE_INFO);
    if (!chain) return -3;
    DeviceLink *link = chain->link;
    chain->link = link->next;
    next_device = link->device;
    int (*create)(void *, const CreateInfo *, const void *, void **) = (void *)link->instance(NULL, "vkCreateDevice");
    int result = create(physical, info, allocator, device);
    device_now = *device;
    is_lost = 0;
    return result;
}

// The number that the variable has for `kind`, or 0.
static int lose_at(const char *kind) {
    const char *asked = getenv("KILN_LOSE_AT");
    size_t length = strlen(kind);
    return asked && !strncmp(asked, kind, length) ? atoi(asked + length) : 0;
}

static int real_idle(void) {
    int (*wait)(void *) = (void *)next_device(device_now, "vkDeviceWaitIdle");
    return wait(device_now);
}

static void lose(void) {
    // A lost device is at nothing any more, so what is to be destroyed next is not in use.
    real_idle();
    is_lost = 1;
    // The loader may load the layer anew for the next device, and its counts begin again.
    unsetenv("KILN_LOSE_AT");
}

static int queue_submit(void *queue, uint32_t count, const void *submits, uint64_t fence) {
    ++submissions;
    if (!is_lost && submissions == lose_at("submit:")) {
        lose();
    }
    if (is_lost) return ERROR_DEVICE_LOST;
    int (*submit)(void *, uint32_t, const void *, uint64_t) = (void *)next_device(device_now, "vkQueueSubmit");
    int result = submit(queue, count, submits, fence);
    if (submissions == lose_at("wait:")) {
        lose();
    }
    return result;
}

static int wait_semaphores(void *device, const void *info, uint64_t timeout) {
    if (is_lost) return ERROR_DEVICE_LOST;
    int (*wait)(void *, const void *, uint64_t) = (void *)next_device(device, "vkWaitSemaphores");
    return wait(device, info, timeout);
}

static int counter_value(void *device, uint64_t semaphore, uint64_t *value) {
    if (is_lost) return ERROR_DEVICE_LOST;
    int (*get)(void *, uint64_t, uint64_t *) = (void *)next_device(device, "vkGetSemaphoreCounterValue");
    return get(device, semaphore, value);
}

static int wait_idle(void *device) {
    (void)device;
    return is_lost ? ERROR_DEVICE_LOST : real_idle();
}

static Function device_function(void *device, const char *name);
static Function instance_function(void *instance, const char *name);

static Function own(const char *name) {
    static const struct { const char *name; Function function; } list[] = {
        {"vkCreateInstance", (Function)create_instance}, {"vkCreateDevice", (Function)create_device},
        {"vkQueueSubmit", (Function)queue_submit},       {"vkWaitSemaphores", (Function)wait_semaphores},
        {"vkDeviceWaitIdle", (Function)wait_idle},       {"vkGetSemaphoreCounterValue", (Function)counter_value},
        {"vkGetDeviceProcAddr", (Function)device_function}, {"vkGetInstanceProcAddr", (Function)instance_function},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i)
        if (!strcmp(list[i].name, name)) return list[i].function;
    return NULL;
}

static Function device_function(void *device, const char *name) {
    Function function = own(name);
    return function ? function : next_device(device, name);
}

static Function instance_function(void *instance, const char *name) {
    Function function = own(name);
    return function ? function : next_instance(instance, name);
}

EXPORT int vkNegotiateLoaderLayerInterfaceVersion(Negotiate *asked) {
    asked->version = 2;
    asked->instance = instance_function;
    asked->device = device_function;
    asked->physical = NULL;
    return 0;
}
