// Rights that the program has from its file (set-user-ID, capabilities) and its caller has not.
#pragma once

namespace cudart_doctor {

/// Whether real and effective user or group differ: the file is set-user-ID or set-group-ID.
bool is_set_id();

/// Gives up what the file's capabilities gave, and the way back to them by execve: what is loaded
/// afterwards has the caller's own rights. Async-signal-safe. False where that failed.
bool drop_gained_capabilities();

}  // namespace cudart_doctor
