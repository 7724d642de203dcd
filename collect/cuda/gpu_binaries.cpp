#include "cuda/gpu_binaries.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/session.h"
#include "core/sha256.h"

namespace fathom::collect::cuda {
namespace {

std::string hexadecimal(const std::array<uint8_t, 32>& digest) {
  std::string out;
  for (const uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

bool write_all(int file, const void* bytes, size_t size) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  while (size > 0) {
    const ssize_t written = write(file, at, std::min(size, size_t(1) << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

/// Writes beside the target and renames, so that nobody ever sees half a binary.
bool store(const std::string& path, const void* bytes, size_t size) {
  if (access(path.c_str(), F_OK) == 0) return true;
  const std::string temporary =
      path + "." + std::to_string(getpid()) + "-" + std::to_string(syscall(SYS_gettid)) + ".part";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = write_all(file, bytes, size);
  int error = errno;
  const bool closed = close(file) == 0;
  if (written && closed && rename(temporary.c_str(), path.c_str()) == 0) return true;
  if (written) error = errno;
  unlink(temporary.c_str());
  errno = error;
  return false;
}

}  // namespace

void keep_binary(const CuptiTable& cupti, uint32_t context, uint32_t module, const void* bytes,
                 size_t size) {
  if (bytes == nullptr || size == 0) return;
  auto& session = Session::get();
  record::GpuBinary out{};
  const auto digest = sha256(bytes, size);
  std::copy(digest.begin(), digest.end(), out.sha256);
  out.size = size;
  out.context = context;
  out.module = module;
  if (cupti.cuptiGetCubinCrc != nullptr) {
    CUpti_GetCubinCrcParams crc{};
    crc.size = CUpti_GetCubinCrcParamsSize;
    crc.cubinSize = size;
    crc.cubin = bytes;
    if (cupti.cuptiGetCubinCrc(&crc) == CUPTI_SUCCESS) out.crc = crc.cubinCrc;
  }
  const std::string folder = session.directory() + "/gpubins";
  const std::string path = folder + "/" + hexadecimal(digest) + ".cubin";
  if ((mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) || !store(path, bytes, size))
    session.write_failed(path, errno);
  session.add(record::ChunkType::gpu_binary, out);
}

}  // namespace fathom::collect::cuda
