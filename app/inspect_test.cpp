// What `fathom inspect` shows: its views over a recorded disassembly, and the command itself.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/inspect_views.h"
#include "app/ordered_work.h"
#include "base/files.h"
#include "base/text.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

const Decoder kNative = *find_decoder("native");
Result<std::unique_ptr<InstructionSource>> recorded_source(InstructionText) {
  return fixture_source("inlining.sm_90.sass");
}
const Decoder kRecorded = {"recorded", recorded_source, false};

struct Fixture {
  std::shared_ptr<const std::vector<uint8_t>> bytes = fixture_bytes("inlining.sm_90.cubin");
  GpuImages found = std::move(*list_gpu_images(*bytes, "inlining.cubin"));
  const GpuImage& image() const { return found.images.at(0); }
};

/// All that a view makes of the fixture's functions.
std::string show(const std::string& name, const Decoder& decoder, size_t threads,
                 const std::function<std::string(const FunctionCode&)>& view) {
  Fixture fixture;
  std::string text;
  const CodeRequest request{name, InstructionText::written, threads};
  Result<Done> done = read_code(fixture.image(), "inlining.cubin", decoder, request,
                                [&](const FunctionCode& code) { text += view(code); });
  EXPECT_TRUE(done.ok()) << done.error().message();
  return text;
}

std::string listing(const FunctionCode& code) {
  SourceLines sources;
  return listing_text(code, sources, Style{});
}

void expect_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(FATHOM_SOURCE_DIR) + "/tests/golden/" + name;
  if (std::getenv("FATHOM_REGENERATE")) {
    ASSERT_TRUE(write_file(path, text).ok());
  }
  Result<std::string> golden = read_text_file(path);
  ASSERT_TRUE(golden.ok()) << golden.error().message();
  EXPECT_EQ(*golden, text) << "FATHOM_REGENERATE=1 inspect_test writes it anew";
}

TEST(InspectViews, ListingShowsControlFieldsBesideSourceLines) {
  expect_golden(show("nested", kNative, 1, listing), "inspect_listing.txt");
}

TEST(InspectViews, FunctionsTellResourcesLoopsAndMix) {
  auto view = [](const FunctionCode& code) { return function_text(code, Style{}); };
  expect_golden(show("", kNative, 1, view), "inspect_functions.txt");
}

TEST(InspectViews, GraphHasEveryBlockAndEdge) {
  Fixture fixture;
  size_t blocks = 0, edges = 0;
  std::string text = show("", kNative, 1, [&](const FunctionCode& code) {
    blocks += code.graph.blocks.size();
    for (const Block& block : code.graph.blocks) edges += block.successors.size();
    return dot_text(code, fixture.image());
  });
  auto count = [&](std::string_view what) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count(" [label=\""), blocks);
  EXPECT_EQ(count(" -> i1_"), edges);
  EXPECT_GT(edges, 3u);
  EXPECT_EQ(count("subgraph cluster_"), 5u);
}

TEST(InspectViews, JsonHoldsWhatTheTextShows) {
  show("reduce<double>", kNative, 1, [&](const FunctionCode& code) {
    Json json = json_of(code, true, true);
    EXPECT_EQ(json["name"], code.symbol->name);
    EXPECT_EQ(json["static_shared_bytes"], 128 * sizeof(double));
    EXPECT_EQ(json["code"].size(), code.instructions.size());
    EXPECT_EQ(json["blocks"].size(), code.graph.blocks.size());
    EXPECT_EQ(json["loops"].size(), code.loops.loops.size());
    uint64_t sum = 0;
    for (const auto& [name, count] : json["mix"].items()) sum += count.get<uint64_t>();
    EXPECT_EQ(sum, code.instructions.size());
    EXPECT_FALSE(json_of(code, false, false).contains("code"));
    return "";
  });
}

TEST(InspectCode, NamesMatchMangledAndDemangled) {
  auto names = [](const FunctionCode& code) { return code.symbol->name + "\n"; };
  EXPECT_EQ(show("reduce<double>", kNative, 1, names), "_Z6reduceIdEvPT_PKS0_i\n");
  EXPECT_EQ(show("_Z6reduceId", kNative, 1, names), "_Z6reduceIdEvPT_PKS0_i\n");
  EXPECT_EQ(show("absent", kNative, 1, names), "");
}

TEST(InspectCode, ThreadsChangeNothing) {
  EXPECT_EQ(show("", kNative, 4, listing), show("", kNative, 1, listing));
}

TEST(InspectCode, DecodersDifferInTextAlone) {
  auto facts = [](const FunctionCode& code) {
    Json json = json_of(code, true, true);
    for (Json& instruction : json["code"]) instruction.erase("text");
    return json.dump(1);
  };
  const std::string native = show("", kNative, 1, facts);
  EXPECT_GT(native.size(), 1000u);
  EXPECT_EQ(native, show("", kRecorded, 1, facts));
}

TEST(OrderedWork, TakesInOrderAndStopsWhereItIsTold) {
  std::vector<size_t> taken;
  make_in_order(
      1000, 3, [](size_t i) { return i * 2; },
      [&](size_t i, size_t doubled) {
        EXPECT_EQ(doubled, i * 2);
        taken.push_back(i);
        return i < 700;
      });
  ASSERT_EQ(taken.size(), 701u);
  for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], i);
  make_in_order(
      0, 3, [](size_t) { return 0; }, [](size_t, int) { return false; });
}

class Inspect : public testing::Test {
 protected:
  struct Outcome {
    int code;
    std::string out, err;
  };
  Outcome run(const std::string& arguments) const {
    const std::string out = folder_.path() + "/out", err = folder_.path() + "/err";
    std::string command = "cd " FATHOM_SOURCE_DIR "/tests/fixtures && " FATHOM_PROGRAM " inspect " +
                          arguments + " >" + out + " 2>" + err + " </dev/null";
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_text_file(out),
            *read_text_file(err)};
  }
  void expect_error(const std::string& arguments, int code, const std::string& part) const {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << arguments << ": " << outcome.err;
    EXPECT_TRUE(starts_with(outcome.err, "fathom: ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
  /// A copy of a fixture's first `size` bytes.
  std::string cut(const std::string& fixture, size_t size) const {
    std::vector<uint8_t> bytes =
        *read_file(std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/" + fixture);
    bytes.resize(std::min(size, bytes.size()));
    const std::string path = folder_.path() + "/cut";
    EXPECT_TRUE(write_file(path, as_text(bytes)).ok());
    return path;
  }

  TestFolder folder_;
};

TEST_F(Inspect, ListsImagesWithTotals) {
  Outcome outcome = run("--list fatbin/library.so");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(
      outcome.out,
      "image     1  cubin    sm_75        3.2 KiB (879 B as zstd), in .nv_fatbin\n"
      "image     2  cubin    sm_90a       3.8 KiB (1002 B as zstd), in .nv_fatbin\n"
      "image     3  ptx      compute_90a  836 B (381 B as zstd), in .nv_fatbin\n"
      "total in .nv_fatbin: 3 images (cubin sm_75: 1, cubin sm_90a: 1, ptx compute_90a: 1)\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Inspect, ExtractsImagesThatItCanReadAgain) {
  const std::string folder = folder_.path() + "/made/here";
  Outcome outcome = run("--arch sm_90a --extract " + folder + " fatbin/library.so");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, folder + ": 1 image\n");
  const std::string cubin = folder + "/image_0002.sm_90a.cubin";
  EXPECT_EQ(std::filesystem::file_size(cubin), 3840u);
  EXPECT_NE(run("--summary " + cubin).out.find("1 function, "), std::string::npos);
  expect_error("--extract /proc/absent fatbin/library.so", 3, "cannot make the folder");
}

TEST_F(Inspect, JsonListsWhatTheTextLists) {
  Json json = Json::parse(run("--list --json --arch sm_75 fatbin/library.so").out);
  ASSERT_EQ(json["images"].size(), 1u);
  EXPECT_EQ(json["images"][0]["arch"], "sm_75");
  EXPECT_EQ(json["images"][0]["compression"], "zstd");
  EXPECT_EQ(json["total"]["images"], 1);
}

TEST_F(Inspect, JsonIsValidByItsSchema) {
  for (const char* view : {"--list", "--summary", "--disassemble", "--cfg"}) {
    const std::string file = folder_.path() + "/inspect.json";
    Outcome outcome = run(std::string(view) + " --json fatbin/lz4.fatbin");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    ASSERT_TRUE(write_file(file, outcome.out).ok());
    const std::string judge = "python3 " FATHOM_SOURCE_DIR "/tests/validate_json.py ";
    int status = std::system(
        (judge + FATHOM_SOURCE_DIR "/docs/schemas/inspect.schema.json " + file).c_str());
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 77 || code == 127) GTEST_SKIP() << "python3 with jsonschema is not installed";
    EXPECT_EQ(code, 0) << view;
  }
}

TEST_F(Inspect, OneLineSaysWhatIsWrong) {
  expect_error("absent", 3, "absent");
  expect_error("fatbin", 3, "is a directory");
  expect_error("fatbin/tiny.cu", 3, "PTX text");
  expect_error("fatbin/lz4.fatbin --arch sm_80", 1, "code for compute_90a, sm_75, sm_90a");
  expect_error("--list " + cut("fatbin/library.so", 3000), 3, "section table lies outside");
  expect_error("--list " + cut("fatbin/none.fatbin", 1000), 3, "cut off");
  expect_error("/bin/true", 1, "no GPU code");
  expect_error("fatbin/lz4.fatbin --cfg --summary", 2, "see fathom inspect --help");
  expect_error("fatbin/lz4.fatbin --decoder magic", 2, "--decoder");
}

TEST_F(Inspect, SaysWhichCodeItCannotRead) {
  auto patched = [&](size_t offset, const std::vector<uint8_t>& bytes) {
    std::vector<uint8_t> file = *read_file(FATHOM_SOURCE_DIR "/tests/fixtures/fatbin/none.fatbin");
    std::copy(bytes.begin(), bytes.end(), file.begin() + offset);
    const std::string path = folder_.path() + "/patched";
    EXPECT_TRUE(write_file(path, as_text(file)).ok());
    return path;
  };
  constexpr size_t kEntry = 16, kCubin = 80, kFlags = 48, kClass = 4, kKind = 0, kMarks = 40;
  expect_error(patched(kCubin + kFlags, {0, 61}), 3, "sm_61, which has 64-bit instruction");
  expect_error(patched(kCubin + kClass, {1}), 3, "a 32-bit ELF file");
  expect_error(patched(kEntry + kMarks, {0x11, 0x10}), 3, "a way that is not known");
  EXPECT_NE(run("--list " + patched(kEntry + kKind, {128})).out.find("tile ir"), std::string::npos);
  expect_error("fatbin/lto.fatbin", 1, "no machine code");
  EXPECT_NE(run("fatbin/lto.fatbin").out.find("lto ir   compute_90"), std::string::npos);
}

TEST_F(Inspect, SummarizesEachImage) {
  Outcome outcome = run("--summary fatbin/lz4.fatbin");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("image     2  sm_90a       1 function, 23 instructions, 1 loop, 0"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("total: 3 images, 2 functions, 44 instructions, 2 loops, 0 unknown"),
            std::string::npos)
      << outcome.out;
  expect_error("fatbin/lz4.fatbin --function absent", 1, "no function has");
}

TEST_F(Inspect, CanAskNvdisasm) {
  if (!find_nvdisasm()) GTEST_SKIP() << "needs nvdisasm: pip install nvidia-cuda-nvdisasm";
  auto without_time = [](const std::string& text) { return text.substr(0, text.rfind(", ")); };
  EXPECT_EQ(without_time(run("--summary fatbin/lz4.fatbin --decoder nvdisasm").out),
            without_time(run("--summary fatbin/lz4.fatbin").out));
  EXPECT_EQ(run("cubin/tiny.sm_90.cubin --disassemble --decoder nvdisasm").code, 0);
}

}  // namespace
}  // namespace fathom
