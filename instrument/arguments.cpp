#include "instrument/arguments.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace fathom::instrument {
namespace {

constexpr int kMaxDepth = 10;          // of response files
constexpr size_t kMaxWords = 1 << 20;  // in all of them

/// Options whose value is the next argument, unless it follows at once. Where -I FILE and -IFILE
/// are the same, only the bare form takes the next argument.
const std::set<std::string_view> kTakeNext{"-o",
                                           "-x",
                                           "-I",
                                           "-D",
                                           "-U",
                                           "-L",
                                           "-J",
                                           "-T",
                                           "-u",
                                           "-e",
                                           "-z",
                                           "-A",
                                           "-B",
                                           "-F",
                                           "-G",
                                           "-l",
                                           "-include",
                                           "-imacros",
                                           "-isystem",
                                           "-iquote",
                                           "-idirafter",
                                           "-isysroot",
                                           "-iprefix",
                                           "-iwithprefix",
                                           "-iwithprefixbefore",
                                           "-imultilib",
                                           "-include-pch",
                                           "-cxx-isystem",
                                           "-c-isystem",
                                           "-ivfsoverlay",
                                           "-MF",
                                           "-MT",
                                           "-MQ",
                                           "-Xlinker",
                                           "-Xassembler",
                                           "-Xpreprocessor",
                                           "-Xclang",
                                           "-Xanalyzer",
                                           "-Xopenmp-target",
                                           "-Xflang",
                                           "-mllvm",
                                           "-mmlir",
                                           "-arch",
                                           "-target",
                                           "-aux-info",
                                           "-dumpbase",
                                           "-dumpbase-ext",
                                           "-dumpdir",
                                           "-wrapper",
                                           "-specs",
                                           "--param",
                                           "--sysroot",
                                           "--target",
                                           "-framework",
                                           "-rpath",
                                           "-soname",
                                           "-Ttext",
                                           "-Tdata",
                                           "-Tbss",
                                           "-module-dir",
                                           "-fmodule-output",
                                           "-serialize-diagnostics",
                                           "--serialize-diagnostics",
                                           "--include",
                                           "--output",
                                           "--language",
                                           "--define-macro",
                                           "--undefine-macro",
                                           "--include-directory",
                                           "--library-directory",
                                           "--entry",
                                           "--for-linker",
                                           "-working-directory"};

const std::set<std::string_view> kSourceEndings{
    "c",   "i",   "ii",   "C",   "cc",  "cp",  "cpp", "cxx", "c++", "CPP",
    "CXX", "ixx", "cppm", "ccm", "m",   "mm",  "M",   "mi",  "mii", "f",
    "for", "ftn", "fpp",  "F",   "FOR", "FPP", "FTN", "f90", "f95", "f03",
    "f08", "F90", "F95",  "F03", "F08", "bc",  "ll",  "d",   "cu",  "hip"};
const std::set<std::string_view> kOtherEndings{"s", "S", "sx", "asm"};
const std::set<std::string_view> kHeaderEndings{"h", "H", "hh", "hp", "hpp", "hxx", "h++", "tcc"};

/// What ends a compilation before anything is linked, and before there is machine code.
const std::set<std::string_view> kNoCode{"-E",
                                         "-M",
                                         "-MM",
                                         "-fsyntax-only",
                                         "--preprocess",
                                         "--analyze",
                                         "--precompile",
                                         "-emit-ast",
                                         "-emit-pch",
                                         "-rewrite-objc",
                                         "-rewrite-legacy-objc",
                                         "-emit-interface-stubs",
                                         "--dependencies",
                                         "--user-dependencies",
                                         "-fdriver-only"};
const std::set<std::string_view> kNoLink{"-c", "-S", "--compile", "--assemble"};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char at = text[i];
    const bool is_space = at == ' ' || (at >= '\t' && at <= '\r');
    if (quote == 0 && is_space) {
      if (in_word) out.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (at == '\\' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote != 0 ? at == quote : at == '"' || at == '\'') {
      quote = quote != 0 ? 0 : at;
    } else {
      word += at;
    }
  }
  if (in_word) out.push_back(std::move(word));
  return out;
}

void add_expanded(const std::vector<std::string>& arguments, int depth,
                  std::vector<std::string>& out) {
  for (const std::string& argument : arguments) {
    if (out.size() > kMaxWords) return;
    if (depth < kMaxDepth && argument.size() > 1 && argument[0] == '@') {
      if (const auto text = read_text_file(argument.substr(1))) {
        add_expanded(words_of(*text), depth + 1, out);
        continue;
      }
    }
    out.push_back(argument);
  }
}

class Reader {
 public:
  Request read(const std::vector<std::string>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      const std::string next = i + 1 < arguments.size() ? arguments[i + 1] : "";
      if (argument.size() < 2 || argument[0] != '-') {
        add_input(argument);
        continue;
      }
      read_option(argument, next);
      if (kTakeNext.count(argument) != 0) ++i;
    }
    return result();
  }

 private:
  void read_option(const std::string& option, const std::string& next) {
    if (option == "-x" || option == "--language")
      language_ = next;
    else if (starts_with(option, "-x"))
      language_ = option.substr(2);
    else if (kNoCode.count(option) != 0)
      no_code_ = true;
    else if (kNoLink.count(option) != 0)
      no_link_ = true;
    else if (option == "-static" || option == "-static-pie" || option == "--static")
      out_.is_static = true;
    else if (option == "-m32" || option == "-mx32")
      out_.is_32_bit = true;
    else if (option == "-r" || option == "-Wl,-r" || option == "--relocatable")
      relocatable_ = true;
    else if (starts_with(option, "-flto"))
      out_.has_lto = true;
    else if (starts_with(option, "-l"))
      has_linker_input_ = true;
    else if (is_debug_option(option))
      out_.has_debug_option = true;
    else if (starts_with(option, "-print-") || starts_with(option, "--print-") ||
             option == "-dumpversion" || option == "-dumpmachine" || option == "-dumpspecs" ||
             option == "-dumpfullversion" || option == "-cc1" || option == "-cc1as")
      is_question_ = true;
  }

  static bool is_debug_option(const std::string& option) {
    if (!starts_with(option, "-g")) return false;
    for (const char* other : {"-gz", "-gno-", "-gcolumn-info", "-grecord-", "-gstrict-", "-gas-"})
      if (starts_with(option, other)) return false;
    return true;
  }

  void add_input(const std::string& name) {
    if (!language_.empty() && language_ != "none") {
      if (starts_with(language_, "assembler"))
        has_linker_input_ = true;
      else if (ends_with(language_, "-header"))
        has_header_ = true;
      else
        has_source_ = true;
      return;
    }
    const size_t dot = name.rfind('.'), slash = name.rfind('/');
    const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
    const std::string_view ending =
        has_ending ? std::string_view(name).substr(dot + 1) : std::string_view();
    if (kSourceEndings.count(ending) != 0)
      has_source_ = true;
    else if (kHeaderEndings.count(ending) != 0)
      has_header_ = true;
    else if (name != "-")
      has_linker_input_ = true;  // assembler is linked as well
  }

  Request result() {
    const bool any = has_source_ || has_linker_input_;
    if (is_question_ || no_code_ || !(any || has_header_)) return {};
    out_.compiles = has_source_;
    out_.links = any && !no_link_ && !relocatable_ && !(has_header_ && !any);
    return out_;
  }

  Request out_;
  std::string language_;
  bool has_source_ = false, has_header_ = false, has_linker_input_ = false;
  bool no_code_ = false, no_link_ = false, relocatable_ = false, is_question_ = false;
};

}  // namespace

std::vector<std::string> with_response_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  add_expanded(arguments, 0, out);
  return out;
}

Request read_request(const std::vector<std::string>& arguments) {
  return Reader().read(with_response_files(arguments));
}

}  // namespace fathom::instrument
