// What own.c needs.
int cudaFree(void);
int cudaFree(void) { return 0; }
