#include "binary/archive.h"

#include <charconv>

#include "base/text.h"

namespace fathom {
namespace {

constexpr std::string_view kMagic = "!<arch>\n", kThinMagic = "!<thin>\n";
constexpr size_t kHeaderSize = 60, kNameSize = 16, kSizeOffset = 48, kSizeSize = 10;

std::optional<uint64_t> number(std::string_view text) {
  text = trim(text);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "name/", or "/123" for a name in the table of long names.
std::string member_name(std::string_view field, std::string_view long_names) {
  field = trim(field);
  if (field.size() > 1 && field[0] == '/') {
    std::optional<uint64_t> offset = number(field.substr(1));
    if (!offset || *offset >= long_names.size()) return std::string(field);
    field = long_names.substr(*offset);
    field = field.substr(0, field.find('\n'));
  }
  if (ends_with(field, "/")) field.remove_suffix(1);
  return std::string(field);
}

bool is_table(std::string_view field) {
  field = trim(field);
  return field == "/" || field == "/SYM64/" || starts_with(field, "__.SYMDEF");
}

}  // namespace

bool is_archive(Bytes bytes) {
  return starts_with(as_text(bytes), kMagic) || starts_with(as_text(bytes), kThinMagic);
}

Result<std::vector<ArchiveMember>> read_archive(Bytes bytes, const std::string& where) {
  auto damaged = [&](const char* what, size_t offset) {
    return Error{ErrorKind::bad_input, format("%s, at offset %zu", what, offset), where,
                 "the archive is damaged or cut off"};
  };
  if (starts_with(as_text(bytes), kThinMagic))
    return Error{ErrorKind::bad_input, "a thin archive, whose members are files of their own",
                 where, "give these files"};
  std::vector<ArchiveMember> members;
  std::string_view long_names;
  ByteReader reader(bytes, kMagic.size());
  while (!reader.at_end()) {
    const size_t start = reader.position();
    std::string_view header = as_text(reader.take(kHeaderSize));
    if (reader.failed() || header.substr(kHeaderSize - 2) != "`\n")
      return damaged("a member's header is damaged", start);
    std::optional<uint64_t> size = number(header.substr(kSizeOffset, kSizeSize));
    if (!size || *size > reader.remaining())
      return damaged("a member reaches beyond the file", start);
    Bytes data = reader.take(*size);
    if (*size % 2 == 1 && !reader.at_end()) reader.skip(1);
    std::string_view field = header.substr(0, kNameSize);
    if (trim(field) == "//") {
      long_names = as_text(data);
    } else if (!is_table(field)) {
      members.push_back({member_name(field, long_names), data});
    }
  }
  return members;
}

}  // namespace fathom
