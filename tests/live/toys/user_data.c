/* Keeps the address of cudaMalloc as data. */
extern const void* cudaMalloc(void);
typedef const void* (*Function)(void);
Function kept = cudaMalloc;
const void* call_through_slot(void) { return kept(); }
