/* Named like a runtime, with a few of its names. */
int cudaDeviceReset(void) { return 0; }
int cudaGetDeviceCount(int* count) {
  *count = 0;
  return 100;
}
