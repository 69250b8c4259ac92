/* Calls cudaMalloc through its slot and hands on what that said. */
extern const void* cudaMalloc(void);
const void* call_through_slot(void) { return cudaMalloc(); }
