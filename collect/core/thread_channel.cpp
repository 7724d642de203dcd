#include "core/thread_channel.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "core/lock.h"
#include "core/session.h"

namespace fathom::collect {
namespace {

pthread_mutex_t channels_lock = PTHREAD_MUTEX_INITIALIZER;
ThreadChannel* first_channel = nullptr;
pthread_key_t exit_key;
pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

// In the static block of thread-local storage: reading it neither allocates nor locks.
__attribute__((tls_model("initial-exec"))) thread_local ThreadChannel* this_thread = nullptr;

}  // namespace

ThreadChannel* ThreadChannel::of_this_thread() {
  if (this_thread != nullptr) return this_thread;
  if (!Session::get().active()) return nullptr;
  pthread_once(&exit_key_once, [] { pthread_key_create(&exit_key, &ThreadChannel::close); });
  auto* channel = new (std::nothrow) ThreadChannel;
  if (channel == nullptr) return nullptr;
  if (!channel->open()) {
    delete channel;
    return nullptr;
  }
  this_thread = channel;
  pthread_setspecific(exit_key, channel);
  Locked locked(channels_lock);
  channel->next_ = first_channel;
  if (first_channel != nullptr) first_channel->previous_ = channel;
  first_channel = channel;
  return channel;
}

/// A thread id may come again after its thread has gone: each thread gets a file of its own.
bool ThreadChannel::open() {
  const auto& session = Session::get();
  const std::string stem = session.folder() + "/thread-" + std::to_string(syscall(SYS_gettid));
  for (int attempt = 1; attempt < 1000000; ++attempt) {
    path_ = stem;
    if (attempt > 1) path_.append("-").append(std::to_string(attempt));
    path_ += ".fathom";
    if (file_.open(path_)) return true;
    if (errno != EEXIST) break;
  }
  Session::get().write_failed(path_, errno);
  return false;
}

void ThreadChannel::close(void* data) {
  auto* channel = static_cast<ThreadChannel*>(data);
  if (!Session::get().is_own_process()) return;
  {
    Locked locked(channels_lock);
    if (channel->next_ != nullptr) channel->next_->previous_ = channel->previous_;
    (channel->previous_ != nullptr ? channel->previous_->next_ : first_channel) = channel->next_;
  }
  this_thread = nullptr;
  delete channel;  // the file writes what waits
}

void ThreadChannel::flush_all() {
  Locked locked(channels_lock);
  for (auto* channel = first_channel; channel != nullptr; channel = channel->next_)
    channel->flush();
}

void ThreadChannel::flush() {
  int error;
  {
    Locked locked(lock_);
    file_.flush();
    error = file_.error();
  }
  if (error != 0) Session::get().write_failed(path_, error);
}

void ThreadChannel::record_call(uint32_t correlation, record::ApiKind kind, uint32_t context,
                                uint64_t time_ns) {
  auto& session = Session::get();
  if (busy_ || !session.active()) return;
  busy_ = true;
  auto& modules = session.modules();
  if (generation_ != modules.generation()) {
    generation_ = modules.generation();
    unwinder_.forget();
    paths_.forget();
  }
  unwinder_.walk(stack_);
  {
    Locked locked(lock_);
    const uint32_t path = paths_.intern(stack_, modules, file_);
    file_.add(record::ChunkType::api_call,
              record::ApiCall{correlation, path, kind, context, time_ns});
  }
  busy_ = false;
}

void ThreadChannel::record_wait(const record::Synchronization& wait) {
  if (!Session::get().active()) return;
  Locked locked(lock_);
  file_.add(record::ChunkType::synchronization, wait);
}

void ThreadChannel::record_arguments(const record::LaunchArguments& arguments) {
  if (!Session::get().active()) return;
  Locked locked(lock_);
  file_.add(record::ChunkType::launch_arguments, arguments);
}

}  // namespace fathom::collect
