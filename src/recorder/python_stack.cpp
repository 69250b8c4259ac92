#include "python_stack.hpp"

#include "cudart_doctor/formats/recorder_limits.hpp"
#include "python_api.hpp"

namespace cudart_doctor::recorder {
namespace {

/// Frames that are looked at, with those of the import machinery.
constexpr std::size_t kMaxWalk = 1024;
constexpr std::string_view kImportMachinery = "<frozen importlib._bootstrap";

/// A reference that is given back. Objects are never freed by it while they are on the stack.
class Reference {
 public:
  Reference(const PythonApi& api, PyObject* object) : api_(api), object_(object) {}
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { drop(); }
  [[nodiscard]] PyObject* get() const { return object_; }
  void take(PyObject* object) {
    drop();
    object_ = object;
  }

 private:
  void drop() {
    if (object_ != nullptr) api_.decrease(object_);
  }
  const PythonApi& api_;
  PyObject* object_;
};

/// No finaliser may run here: it could wait for another thread that waits for the loader's lock,
/// which this one holds. And whatever fails must not be an error of the program.
class Undisturbed {
 public:
  explicit Undisturbed(const PythonApi& api) : api_(api) {
    if (api_.disable_gc != nullptr && api_.enable_gc != nullptr) had_gc_ = api_.disable_gc() == 1;
    api_.fetch_error(&type_, &value_, &trace_);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() {
    api_.restore_error(type_, value_, trace_);
    if (had_gc_) api_.enable_gc();
  }

 private:
  const PythonApi& api_;
  bool had_gc_ = false;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* trace_ = nullptr;
};

/// The text of a str, as bytes. What is none gives "".
class Text {
 public:
  Text(const PythonApi& api, PyObject* text)
      : bytes_(api, text == nullptr ? nullptr : api.encode(text, "utf-8", "surrogateescape")) {
    if (bytes_.get() == nullptr) {
      api.clear_error();
    } else if (const char* const found = api.bytes(bytes_.get())) {
      view_ = found;
    }
  }
  [[nodiscard]] std::string_view view() const { return view_; }

 private:
  Reference bytes_;
  std::string_view view_;
};

PyObject* part_of(const PythonApi& api, PyObject* object, const char* name) {
  PyObject* const part = object == nullptr ? nullptr : api.attribute(object, name);
  if (part == nullptr) api.clear_error();
  return part;
}

PyObject* code_of(const PythonApi& api, PyObject* frame) {
  return api.code != nullptr ? api.code(frame) : part_of(api, frame, "f_code");
}

PyObject* globals_of(const PythonApi& api, PyObject* frame) {
  return api.globals != nullptr ? api.globals(frame) : part_of(api, frame, "f_globals");
}

/// nullptr behind the outermost.
PyObject* back_of(const PythonApi& api, PyObject* frame) {
  if (api.back != nullptr) return api.back(frame);
  PyObject* const back = part_of(api, frame, "f_back");
  if (back != api.none) return back;
  api.decrease(back);
  return nullptr;
}

template <typename Buffer>
bool add_frame(const PythonApi& api, PyObject* frame, std::string_view file, Buffer& out) {
  const Reference code(api, code_of(api, frame));
  const Reference function(api, part_of(api, code.get(), "co_name"));
  const Reference globals(api, globals_of(api, frame));
  PyObject* const name = globals.get() == nullptr ? nullptr : api.item(globals.get(), "__name__");
  const int line = api.line(frame);
  const std::size_t before = out.view().size();
  const bool fits = out.add("pyfile", file) && out.add_number("pyline", line) &&
                    out.add("pyfunc", Text(api, function.get()).view()) &&
                    out.add("pymod", Text(api, name).view());
  // Room for a note stays.
  constexpr std::size_t kNote = 128;
  if (fits && out.room() >= kNote) return true;
  out.cut(before);
  return false;
}

/// False where frames were left out.
template <typename Buffer>
bool add_frames(const PythonApi& api, Buffer& out) {
  PyObject* const innermost = api.current_frame();
  if (innermost == nullptr) return true;
  api.increase(innermost);
  Reference frame(api, innermost);
  std::size_t added = 0;
  for (std::size_t i = 0; frame.get() != nullptr; ++i) {
    const Reference code(api, code_of(api, frame.get()));
    const Reference file(api, part_of(api, code.get(), "co_filename"));
    const Text path(api, file.get());
    if (!path.view().starts_with(kImportMachinery)) {
      if (i == kMaxWalk || added == kMaxPythonFrames) return false;
      if (!add_frame(api, frame.get(), path.view(), out)) return false;
      ++added;
    }
    frame.take(back_of(api, frame.get()));
  }
  return true;
}

}  // namespace

void PythonStack::arrive(const link_map& object) {
  static constexpr SymbolName kPython{"Py_IsInitialized"};
  if (python_ == nullptr && LoadedObject(object).find(kPython) != 0) {
    python_ = &object;
    is_ready_ = false;
  }
}

void PythonStack::depart(const link_map* object) {
  if (python_ == object) python_ = nullptr;
}

void PythonStack::settle() {
  is_ready_ = true;
  is_taken_ = false;
}

std::string_view PythonStack::fields() {
  if (python_ == nullptr || !is_ready_) return {};
  if (!is_taken_) {
    is_taken_ = true;
    fields_.cut(0);
    take();
  }
  return fields_.view();
}

void PythonStack::take() {
  const PythonApi api{LoadedObject(*python_)};
  if (!api.is_complete()) {
    fields_.add("pynote", "this Python lacks what is needed to read its stack");
  } else if (api.is_initialized() == 0) {
    fields_.add("pynote", "Python is not running");
  } else if (api.is_finalizing != nullptr && api.is_finalizing() != 0) {
    fields_.add("pynote", "Python is ending");
  } else if (!api.may_be_used()) {
    fields_.add("pynote", "the thread did not hold Python's lock");
  } else {
    const Undisturbed undisturbed(api);
    if (!add_frames(api, fields_)) fields_.add("pynote", "outer frames were left out");
  }
}

}  // namespace cudart_doctor::recorder
