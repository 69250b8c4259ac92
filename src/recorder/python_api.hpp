// The functions of CPython's C interface that the recorder calls, found in the object that has
// them. Nothing of Python is compiled in: one recorder serves every version from 3.8 on.
#pragma once

#include "loaded_object.hpp"

namespace cudart_doctor::recorder {

/// Any Python object; its layout is none of ours.
struct PyObject;

struct PythonApi {
  explicit PythonApi(const LoadedObject& python);

  /// Whether everything that every version has was found.
  [[nodiscard]] bool is_complete() const;
  /// Whether the calling thread may use Python's objects now: it holds the lock, or in builds
  /// without one is attached. Before 3.12 the first of the two is the state of whichever thread
  /// does.
  [[nodiscard]] bool may_be_used() const;

  int (*is_initialized)();
  int (*is_finalizing)();  ///< May be missing.
  void* (*current_state)();
  void* (*own_state)();
  void (*fetch_error)(PyObject**, PyObject**, PyObject**);
  void (*restore_error)(PyObject*, PyObject*, PyObject*);
  void (*clear_error)();
  int (*disable_gc)();              ///< From 3.10.
  int (*enable_gc)();               ///< From 3.10.
  PyObject* (*current_frame)();     ///< Borrowed.
  PyObject* (*back)(PyObject*);     ///< From 3.9.
  PyObject* (*code)(PyObject*);     ///< From 3.9.
  PyObject* (*globals)(PyObject*);  ///< From 3.11.
  int (*line)(PyObject*);
  PyObject* (*attribute)(PyObject*, const char*);
  PyObject* (*item)(PyObject*, const char*);  ///< Of a dict; borrowed.
  PyObject* (*encode)(PyObject*, const char*, const char*);
  char* (*bytes)(PyObject*);
  void (*increase)(PyObject*);
  void (*decrease)(PyObject*);
  PyObject* none;
};

}  // namespace cudart_doctor::recorder
