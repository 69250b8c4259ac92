#include "fields.hpp"

namespace cudart_doctor::recorder {

Digits::Digits(std::uint64_t value, unsigned base) {
  do {
    text_[--begin_] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
}

}  // namespace cudart_doctor::recorder
