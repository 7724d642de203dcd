#include "app/inspect.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "app/inspect_extract.h"
#include "app/inspect_views.h"
#include "app/ordered_work.h"
#include "app/terminal.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace fathom {
namespace {

enum class View { functions, list, summary, listing, graph };

View view_of(const InspectArguments& arguments) {
  return arguments.list          ? View::list
         : arguments.summary     ? View::summary
         : arguments.cfg         ? View::graph
         : arguments.disassemble ? View::listing
                                 : View::functions;
}

/// One image's part of the output.
struct Part {
  std::string text;
  CodeCounts counts;
  std::optional<Error> error;
};

bool has_code(const GpuImage& image) {
  return image.kind == ImageKind::cubin && !image.encrypted;
}

class Inspection {
 public:
  Inspection(const InspectArguments& arguments, const MappedFile& file, const Decoder& decoder)
      : arguments_(arguments), file_(file), decoder_(decoder), view_(view_of(arguments)) {
    style_ = style_for(arguments.color);
  }

  int run(const GpuImages& found) {
    if (std::optional<Error> error = select(found)) return fail(*error);
    if (!arguments_.extract.empty()) return extract(found);
    if (!write(head())) return written_;
    if (view_ == View::list || with_code_ == 0) {
      for (const GpuImage* image : selected_)
        if (!write_item(arguments_.json ? item(json_of(*image)) : image_line(*image)))
          return written_;
    } else if (!decode_all()) {
      return written_;
    }
    if (!write(tail())) return written_;
    tell_problems(found);
    return verdict(found);
  }

 private:
  int extract(const GpuImages& found) {
    Result<size_t> count = extract_images(selected_, arguments_.file, arguments_.extract);
    if (!count) return fail(count.error());
    tell_problems(found);
    write(arguments_.extract + ": " + counted(*count, "image", "images") + "\n");
    return written_                 ? written_
           : found.problems.empty() ? 0
                                    : static_cast<int>(ErrorKind::bad_input);
  }

  void tell_problems(const GpuImages& found) const {
    for (const std::string& problem : found.problems)
      std::fprintf(stderr, "fathom: %s: %s\n", printable(arguments_.file).c_str(),
                   printable(problem).c_str());
  }

  std::optional<Error> select(const GpuImages& found) {
    std::map<std::string, uint64_t> archs;
    for (const GpuImage& image : found.images) {
      ++archs[image.arch];
      if (arguments_.arch.empty() || image.arch == arguments_.arch) selected_.push_back(&image);
    }
    with_code_ = std::count_if(selected_.begin(), selected_.end(),
                               [](const GpuImage* image) { return has_code(*image); });
    if (!selected_.empty()) return std::nullopt;
    if (found.images.empty()) {
      const bool damaged = !found.problems.empty();
      return Error{damaged ? ErrorKind::bad_input : ErrorKind::cannot_answer,
                   damaged ? found.problems.front() : "there is no GPU code in it", arguments_.file,
                   damaged ? "the file is damaged or cut off"
                           : "code of a program may be in the libraries that it loads"};
    }
    std::vector<std::string> names;
    for (const auto& [name, count] : archs) names.push_back(name);
    return Error{ErrorKind::cannot_answer, "there is no image for " + arguments_.arch,
                 arguments_.file, "there is code for " + join(names, ", ")};
  }

  bool decode_all() {
    Progress progress;
    make_in_order(
        selected_.size(), threads_, [&](size_t i) { return make_part(*selected_[i]); },
        [&](size_t i, Part part) {
          if ((i + 1) % 16 == 0) progress.show(format("image %zu of %zu", i + 1, selected_.size()));
          return take(std::move(part));
        });
    return written_ == 0;
  }

  /// Several images keep the cores busy by themselves.
  size_t threads_in_image() const { return with_code_ == 1 ? threads_ : 1; }

  InstructionText text() const {
    const bool shown = arguments_.disassemble || arguments_.cfg;
    return shown ? InstructionText::written : InstructionText::left_out;
  }

  /// Runs on any thread.
  Part make_part(const GpuImage& image) const {
    Part part;
    Json functions = Json::array();
    if (has_code(image)) {
      SourceLines sources;
      Result<Done> done = read_code(
          image, arguments_.file, decoder_, {arguments_.function, text(), threads_in_image()},
          [&](const FunctionCode& code) {
            part.counts += code.counts();
            if (arguments_.json) {
              if (view_ != View::summary)
                functions.push_back(json_of(code, arguments_.disassemble, arguments_.cfg));
            } else {
              part.text += show(code, image, sources);
            }
          });
      if (!done) part.error = done.error();
      file_.release(image.payload);
    }
    finish(image, std::move(functions), part);
    return part;
  }

  std::string show(const FunctionCode& code, const GpuImage& image, SourceLines& sources) const {
    switch (view_) {
      case View::functions:
        return function_text(code, style_);
      case View::listing:
        return listing_text(code, sources, style_);
      case View::graph:
        return dot_text(code, image);
      case View::list:
      case View::summary:
        return "";
    }
    return "";
  }

  void finish(const GpuImage& image, Json functions, Part& part) const {
    if (part.counts.functions == 0 && !arguments_.function.empty()) return;  // nothing asked for
    if (arguments_.json) {
      Json json = json_of(image);
      json["total"] = json_of(part.counts);
      if (view_ != View::summary) json["functions"] = std::move(functions);
      part.text = item(json);
    } else if (view_ == View::summary) {
      part.text =
          has_code(image) && !part.error ? summary_line(image, part.counts) : image_line(image);
    } else if (view_ != View::graph) {
      part.text = paint(style_, Paint::strong, image_title(image)) + "\n" + part.text + "\n";
    }
  }

  bool take(Part part) {
    total_ += part.counts;
    if (part.error) {
      ++failed_;
      if (!first_error_) first_error_ = part.error;
    }
    return write_item(part.text);
  }

  /// A member of the list of images.
  static std::string item(const Json& json) {
    return json.dump(1, ' ', false, Json::error_handler_t::replace);
  }

  std::string head() const {
    if (arguments_.json)
      return "{\"schema_version\": 1,\n\"file\": " + item(Json(arguments_.file)) +
             ",\n\"decoder\": " + item(Json(decoder_.name)) + ",\n\"images\": [\n";
    return view_ == View::graph ? "digraph {\n  node [shape=box, fontname=monospace];\n" : "";
  }

  std::string tail() const {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    if (arguments_.json) {
      Json total = json_of(total_);
      total["images"] = selected_.size();
      return "\n],\n\"total\": " + item(total) + "}\n";
    }
    if (view_ == View::graph) return "}\n";
    if (view_ == View::functions || view_ == View::listing) return "";
    std::string text = image_totals(selected_);
    if (view_ == View::summary)
      text += "total: " + counted(selected_.size(), "image", "images") + ", " +
              counts_text(total_) + ", " + human_seconds(taken.count()) + "\n";
    return text;
  }

  bool write(const std::string& text) {
    if (!text.empty()) written_ = print(text);
    return written_ == 0;
  }
  /// An image's part; JSON has commas between them.
  bool write_item(const std::string& text) {
    if (text.empty()) return true;
    return write(arguments_.json && items_++ > 0 ? ",\n" + text : text);
  }

  int verdict(const GpuImages& found) const {
    const bool asked_for_code = view_ != View::list;
    if (first_error_ && total_.functions == 0) return fail(*first_error_);
    if (first_error_)
      std::fprintf(stderr, "fathom: %zu of %zu images could not be read; the first: %s\n", failed_,
                   selected_.size(), printable(first_error_->message()).c_str());
    if (asked_for_code && with_code_ == 0)
      return fail({ErrorKind::cannot_answer, "there is no machine code in these images",
                   arguments_.file, "PTX and IR become it when the program is linked or run"});
    if (asked_for_code && !arguments_.function.empty() && total_.functions == 0)
      return fail({ErrorKind::cannot_answer,
                   "no function has \"" + arguments_.function + "\" in its name", arguments_.file,
                   "fathom inspect without --function shows all"});
    const bool damaged = first_error_ || !found.problems.empty();
    return damaged ? static_cast<int>(ErrorKind::bad_input) : 0;
  }

  const InspectArguments& arguments_;
  const MappedFile& file_;
  const Decoder& decoder_;
  const View view_;
  const size_t threads_ = std::max(1u, std::thread::hardware_concurrency());
  Style style_;
  std::vector<const GpuImage*> selected_;
  size_t with_code_ = 0;  ///< of those
  CodeCounts total_;
  size_t failed_ = 0, items_ = 0;
  std::optional<Error> first_error_;
  int written_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

int run_inspect(const InspectArguments& arguments) {
  const Decoder* decoder = find_decoder(arguments.decoder);
  FATHOM_INVARIANT(decoder != nullptr);
  Result<MappedFile> file = MappedFile::open(arguments.file);
  if (!file) return fail(file.error());
  Result<GpuImages> found =
      list_gpu_images(file->bytes(), arguments.file, [&](Bytes part) { file->release(part); });
  if (!found) return fail(found.error());
  file->release(file->bytes());
  return Inspection(arguments, *file, *decoder).run(*found);
}

}  // namespace fathom
