// What both ends of the recorder's socket agree on. Nothing of the standard library that needs
// code: the recorder, which sits in other processes, includes it.
#pragma once

#include <cstddef>

namespace cudart_doctor {

/// Larger packets are not sent, and refused by the reader.
inline constexpr std::size_t kMaxRecord = std::size_t{32} * 1024;
/// Python frames in one record.
inline constexpr std::size_t kMaxPythonFrames = 128;
/// Answers to `sync`. After kHold the recorder waits at each batch of loads, not at the first only.
inline constexpr char kProceed = 'p';
inline constexpr char kHold = 'h';
/// Before the answer, at once and each second: the launcher lives, and is not done yet. A recorder
/// that hears nothing for kSecondsOfSilence goes on without an answer, and waits no more.
inline constexpr char kWait = 'w';
inline constexpr int kSecondsOfSilence = 5;
/// Where the recorder's image has the path of its socket: the launcher finds this text, once, and
/// writes the path over it, with a NUL behind it. As long as the longest path of a socket.
inline constexpr std::size_t kSocketPathSize = 108;
inline constexpr char kSocketPathMark[] = "recorder socket path goes here: ";

}  // namespace cudart_doctor
