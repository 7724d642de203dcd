#include "numa/recorder.h"

#include "core/session.h"

namespace fathom::numa {

bool Recorder::open(const std::string& path) {
  return out_.open(path);
}

uint32_t Recorder::intern(const collect::CallStack& stack) {
  auto& modules = collect::Session::get().modules();
  Held held(lock_);
  if (generation_ != modules.generation()) {
    generation_ = modules.generation();
    paths_.forget();
  }
  return paths_.intern(stack, modules, out_);
}

Recorder& recorder() {
  static auto* const recorder = new Recorder;
  return *recorder;
}

}  // namespace fathom::numa
