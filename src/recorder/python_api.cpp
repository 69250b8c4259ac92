#include "python_api.hpp"

#include "addresses.hpp"

namespace cudart_doctor::recorder {
namespace {

/// What `name` is in `python`; nullptr where it is not there.
struct Found {
  std::uintptr_t place = 0;
  template <typename Pointer>
  operator Pointer() const {  // NOLINT(google-explicit-constructor): takes the type of the member
    return pointer_to<Pointer>(place);
  }
};

Found found(const LoadedObject& python, std::string_view name) {
  return {python.find(SymbolName{name})};
}

Found first(Found one, Found other) { return one.place != 0 ? one : other; }

}  // namespace

PythonApi::PythonApi(const LoadedObject& python)
    : is_initialized(found(python, "Py_IsInitialized")),
      is_finalizing(first(found(python, "Py_IsFinalizing"), found(python, "_Py_IsFinalizing"))),
      current_state(first(found(python, "PyThreadState_GetUnchecked"),
                          found(python, "_PyThreadState_UncheckedGet"))),
      own_state(found(python, "PyGILState_GetThisThreadState")),
      fetch_error(found(python, "PyErr_Fetch")),
      restore_error(found(python, "PyErr_Restore")),
      clear_error(found(python, "PyErr_Clear")),
      disable_gc(found(python, "PyGC_Disable")),
      enable_gc(found(python, "PyGC_Enable")),
      current_frame(found(python, "PyEval_GetFrame")),
      back(found(python, "PyFrame_GetBack")),
      code(found(python, "PyFrame_GetCode")),
      globals(found(python, "PyFrame_GetGlobals")),
      line(found(python, "PyFrame_GetLineNumber")),
      attribute(found(python, "PyObject_GetAttrString")),
      item(found(python, "PyDict_GetItemString")),
      encode(found(python, "PyUnicode_AsEncodedString")),
      bytes(found(python, "PyBytes_AsString")),
      increase(found(python, "Py_IncRef")),
      decrease(found(python, "Py_DecRef")),
      none(found(python, "_Py_NoneStruct")) {}

bool PythonApi::is_complete() const {
  return is_initialized != nullptr && current_state != nullptr && own_state != nullptr &&
         fetch_error != nullptr && restore_error != nullptr && clear_error != nullptr &&
         current_frame != nullptr && line != nullptr && attribute != nullptr && item != nullptr &&
         encode != nullptr && bytes != nullptr && increase != nullptr && decrease != nullptr &&
         none != nullptr;
}

bool PythonApi::may_be_used() const {
  const void* const state = current_state();
  return state != nullptr && state == own_state();
}

}  // namespace cudart_doctor::recorder
