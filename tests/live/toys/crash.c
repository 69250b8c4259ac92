/* A library whose constructor ends the process. */
#include <stdlib.h>
__attribute__((constructor)) static void begin(void) { abort(); }
