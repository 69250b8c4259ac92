// Defines cudaMalloc itself and needs a library that defines cudaFree.
int cudaMalloc(void);
int cudaMalloc(void) { return 0; }
extern int cudaFree(void);
int own_uses_it(void);
int own_uses_it(void) { return cudaFree(); }
