/* A library whose constructor never returns. */
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {
  while (1) pause();
}
