#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace fathom {
namespace {

Error cannot(const char* doing, const std::string& path) {
  return {ErrorKind::bad_input, format("cannot %s: %s", doing, std::strerror(errno)), path, ""};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return cannot("open", path);
  struct stat facts {};
  void* address = nullptr;
  std::optional<Error> error;
  if (fstat(file, &facts) != 0) {
    error = cannot("read", path);
  } else if (!S_ISREG(facts.st_mode)) {
    const char* what = S_ISDIR(facts.st_mode) ? "is a directory, not a file" : "is no regular file";
    error = Error{ErrorKind::bad_input, what, path, ""};
  } else if (facts.st_size > 0) {
    address = mmap(nullptr, facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) error = cannot("map", path);
  }
  close(file);
  if (error) return *error;
  return MappedFile(Bytes(static_cast<const uint8_t*>(address), facts.st_size));
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(Bytes part) const {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(part.data()) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace fathom
