#include "binary/decompress.h"

#include <lz4.h>
#include <lz4frame.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <memory>

#include "base/text.h"

namespace fathom {
namespace {

// A byte of an LZ4 block makes at most 255.
constexpr uint64_t kMostFromLz4Byte = 255;
// Output of this many times the input is believed before it is there.
constexpr uint64_t kBelievedRatio = 64;
constexpr int kUsualWindowLog = 27;  // what the zstd library accepts unless told otherwise

Error damaged(const std::string& where, const std::string& why) {
  return {ErrorKind::bad_input, "the compressed image is damaged: " + why, where,
          "the file is damaged or cut off"};
}

Error wrong_size(const std::string& where, uint64_t size) {
  return damaged(
      where, format("it is not the %llu bytes that its header tells", (unsigned long long)size));
}

Result<std::vector<uint8_t>> unpack_lz4_block(Bytes packed, uint64_t size,
                                              const std::string& where) {
  if (packed.size() > INT_MAX || size > INT_MAX || size / kMostFromLz4Byte > packed.size())
    return wrong_size(where, size);
  std::vector<uint8_t> output(size);
  int made = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                 reinterpret_cast<char*>(output.data()),
                                 static_cast<int>(packed.size()), static_cast<int>(output.size()));
  if (made < 0) return damaged(where, "it is not an LZ4 block");
  if (static_cast<uint64_t>(made) != size) return wrong_size(where, size);
  return output;
}

/// Calls `step(output, room, input, available, finished)` until the input is used up or the stream
/// is finished. A step returns what is wrong, or null, and tells by its arguments what it used.
template <class Step>
Result<std::vector<uint8_t>> unpack_stream(Bytes packed, uint64_t size, const std::string& where,
                                           Step step) {
  std::vector<uint8_t> output;
  size_t done = 0, used = 0;
  for (bool finished = false; !finished;) {
    // One byte more than the size tells a stream that would go on.
    if (done == output.size()) {
      if (done == size + 1) return wrong_size(where, size);
      output.resize(std::min<uint64_t>(
          size + 1, std::max<uint64_t>(done * 2, packed.size() * kBelievedRatio + 1)));
    }
    size_t room = output.size() - done, available = packed.size() - used;
    if (const char* why =
            step(output.data() + done, room, packed.data() + used, available, finished))
      return damaged(where, why);
    if (room == 0 && available == 0 && !finished) return damaged(where, "it is cut off");
    done += room;
    used += available;
  }
  if (done != size) return wrong_size(where, size);
  output.resize(done);
  return output;
}

Result<std::vector<uint8_t>> unpack_lz4_frame(Bytes packed, uint64_t size,
                                              const std::string& where) {
  LZ4F_dctx* created = nullptr;
  FATHOM_INVARIANT(!LZ4F_isError(LZ4F_createDecompressionContext(&created, LZ4F_VERSION)));
  std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> context(
      created, LZ4F_freeDecompressionContext);
  auto step = [&](uint8_t* output, size_t& room, const uint8_t* input, size_t& available,
                  bool& finished) -> const char* {
    size_t left = LZ4F_decompress(context.get(), output, &room, input, &available, nullptr);
    finished = left == 0;
    return LZ4F_isError(left) ? LZ4F_getErrorName(left) : nullptr;
  };
  return unpack_stream(packed, size, where, step);
}

Result<std::vector<uint8_t>> unpack_zstd(Bytes packed, uint64_t size, const std::string& where) {
  uint64_t told = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (told == ZSTD_CONTENTSIZE_ERROR) return damaged(where, "it is not a Zstandard frame");
  if (told != ZSTD_CONTENTSIZE_UNKNOWN && told != size) return wrong_size(where, size);
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  FATHOM_INVARIANT(context != nullptr);
  // A frame of one segment has a window as large as itself.
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax,
                         std::clamp(int(std::bit_width(size)), kUsualWindowLog, 31));
  auto step = [&](uint8_t* output, size_t& room, const uint8_t* input, size_t& available,
                  bool& finished) -> const char* {
    ZSTD_outBuffer out{output, room, 0};
    ZSTD_inBuffer in{input, available, 0};
    size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    room = out.pos;
    available = in.pos;
    finished = left == 0;
    return ZSTD_isError(left) ? ZSTD_getErrorName(left) : nullptr;
  };
  return unpack_stream(packed, size, where, step);
}

}  // namespace

const char* name_of(Compression compression) {
  static constexpr const char* kNames[] = {"none", "lz4", "lz4 frame", "zstd", "unknown"};
  return kNames[static_cast<size_t>(compression)];
}

Result<std::vector<uint8_t>> decompress(Compression compression, Bytes packed, uint64_t size,
                                        const std::string& where) {
  switch (compression) {
    case Compression::none:
      return std::vector<uint8_t>(packed.begin(), packed.end());
    case Compression::lz4_block:
      return unpack_lz4_block(packed, size, where);
    case Compression::lz4_frame:
      return unpack_lz4_frame(packed, size, where);
    case Compression::zstd:
      return unpack_zstd(packed, size, where);
    case Compression::unknown:
      break;
  }
  return Error{ErrorKind::bad_input, "the image is compressed in a way that is not known", where,
               "compile with nvcc --compress-mode=none"};
}

}  // namespace fathom
