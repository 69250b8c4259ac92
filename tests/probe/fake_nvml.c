/* A libnvidia-ml.so.1 with one card, by NVML's documented interface. FAKE_NVML changes its mind:
   "no-driver" fails to start, "hang" never answers, "old" has no second version of the memory call. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct memory {
  unsigned long long total, free, used;
};
struct memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, VERSION_MISMATCH = 25 };

static int mood(const char* text) {
  const char* value = getenv("FAKE_NVML");
  return value != NULL && strcmp(value, text) == 0;
}

int nvmlInit_v2(void) {
  while (mood("hang")) pause();
  return mood("no-driver") ? DRIVER_NOT_LOADED : SUCCESS;
}
const char* nvmlErrorString(int code) {
  return code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "other";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return SUCCESS;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(size_t)(index + 1);
  return SUCCESS;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  (void)device;
  strncpy(text, "GPU-0123", size);
  return SUCCESS;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  (void)device;
  strncpy(text, "A card", size);
  return SUCCESS;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* number) {
  (void)device;
  *number = 3;
  return SUCCESS;
}
int nvmlDeviceGetComputeMode(void* device, unsigned* mode) {
  (void)device;
  *mode = 3;
  return SUCCESS;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, struct memory_v2* memory) {
  (void)device;
  if (memory->version != (sizeof *memory | 2u << 24) || mood("old")) return VERSION_MISMATCH;
  memory->used = 100;
  memory->free = 900;
  return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
  (void)device;
  memory->used = 150;
  memory->free = 850;
  return SUCCESS;
}
/* More than the caller's first guess. */
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* all) {
  enum { PROCESSES = 200 };
  (void)device;
  if (*count < PROCESSES) {
    *count = PROCESSES;
    return INSUFFICIENT_SIZE;
  }
  *count = PROCESSES;
  for (unsigned i = 0; i < PROCESSES; ++i) all[i].pid = 1000 + i;
  return SUCCESS;
}
