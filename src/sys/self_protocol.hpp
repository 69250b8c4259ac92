// What parent and child of the "self" target agree on. Requests are names, each with a NUL behind
// it; replies a letter and dlerror's text, with a NUL behind them.
#pragma once

namespace cudart_doctor {

inline constexpr int kSelfCommandFd = 3;
inline constexpr int kSelfReplyFd = 4;
inline constexpr char kSelfLoaded = 'O';
inline constexpr char kSelfFailed = 'F';

}  // namespace cudart_doctor
