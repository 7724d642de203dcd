#include "machine/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "machine/machine_data.h"
#include "machine/pipes.h"

namespace fathom {
namespace {

TEST(Machine, EveryArchitectureHasItsModel) {
  for (uint32_t compute : {70, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    const MachineChoice choice = machine_for(compute);
    ASSERT_NE(choice.model, nullptr);
    EXPECT_TRUE(choice.exact) << compute;
    EXPECT_EQ(choice.model->name, "sm_" + std::to_string(compute));
    EXPECT_EQ(choice.model->multiprocessors, 0u);
    EXPECT_EQ(choice.model->schedulers, 4u);
  }
}

TEST(Machine, AnUnknownArchitectureGetsTheNearestOlderOne) {
  EXPECT_EQ(machine_for(72).model->name, "sm_70");
  EXPECT_FALSE(machine_for(72).exact);
  EXPECT_EQ(machine_for(101).model->name, "sm_100");
  EXPECT_EQ(machine_for(999).model->name, "sm_121");
  EXPECT_FALSE(machine_for(999).exact);
  EXPECT_EQ(machine_for(0).model->name, "sm_70");
  EXPECT_FALSE(machine_for(0).exact);
}

TEST(Machine, ADeviceHasItsOwnModelOrItsArchitectures) {
  const MachineChoice h200 = machine_for("NVIDIA H200", 90);
  EXPECT_EQ(h200.model->name, "NVIDIA H200");
  EXPECT_EQ(h200.model->multiprocessors, 132u);
  EXPECT_TRUE(h200.exact);
  EXPECT_EQ(machine_for("NVIDIA A100-SXM4-80GB", 80).model->name, "sm_80");
}

TEST(Machine, EveryFileListsEveryClass) {
  for (const MachineData& data : machine_data()) {
    const auto model = parse_machine(data.json, std::string(data.file));
    ASSERT_TRUE(model.ok()) << model.error().message();
    for (const char* name : {"integer",
                             "integer_multiply",
                             "integer_wide",
                             "fp16",
                             "fp32",
                             "fp64",
                             "conversion",
                             "special",
                             "tensor",
                             "move",
                             "predicate",
                             "special_register",
                             "shuffle",
                             "load_global",
                             "load_local",
                             "load_shared",
                             "load_constant",
                             "load_generic",
                             "store",
                             "atomic_global",
                             "atomic_shared",
                             "texture",
                             "asynchronous_copy",
                             "barrier",
                             "memory_barrier",
                             "control",
                             "other",
                             "default"}) {
      ASSERT_TRUE(model->latency.count(name)) << data.file << ' ' << name;
      EXPECT_GT(model->latency_of(name).min, 0u) << data.file << ' ' << name;
    }
    EXPECT_GE(model->latency_of("load_global").max, model->latency_of("load_shared").max);
  }
}

TEST(Machine, AnUnlistedClassHasTheDefaultLatency) {
  MachineModel model;
  EXPECT_EQ(model.latency_of("fp32").max, 0u);
  model.latency = {{"fp32", {4, 5}}, {"default", {6, 7}}};
  EXPECT_EQ(model.latency_of("fp32").min, 4u);
  EXPECT_EQ(model.latency_of("fp99").max, 7u);
}

TEST(Machine, TheDevicesOwnWordGoesOverTheArchitectures) {
  const MachineModel& model = *machine_for(90).model;
  const OccupancyLimits unchanged = limits_of(model, DeviceFacts{});
  EXPECT_EQ(unchanged.max_warps, 64u);
  EXPECT_EQ(unchanged.shared_memory, 228u * 1024);
  DeviceFacts device;
  device.max_warps_per_multiprocessor = 48;
  device.max_blocks_per_multiprocessor = 24;
  device.max_registers_per_multiprocessor = 32768;
  device.max_shared_memory_per_multiprocessor = 100 * 1024;
  device.max_shared_memory_per_block = 48 * 1024;
  device.max_threads_per_block = 512;
  const OccupancyLimits limits = limits_of(model, device);
  EXPECT_EQ(limits.max_warps, 48u);
  EXPECT_EQ(limits.max_blocks, 24u);
  EXPECT_EQ(limits.registers, 32768u);
  EXPECT_EQ(limits.shared_memory, 100u * 1024);
  EXPECT_EQ(limits.max_threads_per_block, 512u);
  EXPECT_EQ(limits.max_shared_memory_per_block, 227u * 1024) << "48 KiB is without opting in";
}

TEST(Machine, DevicesAreFoundByAPartOfTheirName) {
  for (const char* name : {"H200", "nvidia h200", "h100", "A100", "v100"}) {
    const auto device = find_device(name);
    ASSERT_TRUE(device.ok()) << name;
    EXPECT_TRUE((*device)->prediction) << name;
    EXPECT_GT((*device)->multiprocessors, 0u) << name;
  }
  EXPECT_EQ(find_device("H200").value()->name, "NVIDIA H200");
  const auto several = find_device("nvidia");
  ASSERT_FALSE(several.ok());
  EXPECT_NE(several.error().message().find("several devices"), std::string::npos);
  EXPECT_NE(several.error().message().find("NVIDIA H200"), std::string::npos);
  EXPECT_FALSE(find_device("").ok());
  EXPECT_FALSE(find_device("sm_90").ok()) << "an architecture has no clock and no bandwidth";
}

TEST(Machine, FiguresForPredictionAreInOrder) {
  for (const char* name : {"H200", "H100", "A100", "V100"}) {
    const PredictionFigures& figures = *find_device(name).value()->prediction;
    EXPECT_GT(figures.clock_mhz, 500) << name;
    const MemoryFigures& memory = figures.memory;
    EXPECT_LT(memory.shared_latency, memory.l2_latency) << name;
    EXPECT_LE(memory.l1_latency, memory.l2_latency) << name;
    EXPECT_LE(memory.l2_latency, memory.l2_far_latency) << name;
    EXPECT_LT(memory.l2_latency, memory.dram_latency) << name;
    EXPECT_LT(memory.dram_read_bytes_per_second, memory.l2_bytes_per_second) << name;
    EXPECT_GE(figures.classes.at("fp32").lanes, figures.classes.at("fp64").lanes) << name;
    EXPECT_GT(figures.classes.at("fp64").lanes, figures.classes.at("special").lanes) << name;
  }
}

TEST(Machine, CachesOfConstantsAreThoseOfHopper) {
  const auto memory = [](const char* name) {
    return find_device(name).value()->prediction->memory;
  };
  for (const char* name : {"H200", "H100"}) {
    EXPECT_EQ(memory(name).constant_bytes, 2048) << name;
    EXPECT_GT(memory(name).constant_miss_cycles, 0) << name;
    EXPECT_GT(memory(name).constant_uniform_miss_cycles, 0) << name;
    EXPECT_GT(memory(name).constant_groups, 0) << name;
    EXPECT_LT(memory(name).constant_uniform_bytes, 2048) << name;
  }
  EXPECT_EQ(memory("A100").constant_bytes, 0) << "nobody measured it";
}

TEST(Pipes, EveryMachineTellsHowLongAUnitIsKept) {
  for (const MachineData& data : machine_data()) {
    const auto model = parse_machine(data.json, std::string(data.file));
    ASSERT_TRUE(model.ok());
    EXPECT_NE(model->lanes.empty(), !model->prediction) << data.file << " has one of both";
    EXPECT_NEAR(lanes_of(*model, "special"), 16, 1) << data.file;
    EXPECT_GE(lanes_of(*model, "fp32"), lanes_of(*model, "fp64")) << data.file;
    EXPECT_EQ(pipe_use(*model, "integer_add").pipe, Pipe::alu) << data.file;
    EXPECT_NEAR(pipe_use(*model, "special").cycles, 8, 0.5) << data.file;
  }
}

TEST(Pipes, OfTheMultiplyAddUnitOneHalfIsKept) {
  const MachineModel& hopper = *machine_for(90).model;
  EXPECT_EQ(pipe_use(hopper, "fp32").pipe, Pipe::fma);
  EXPECT_DOUBLE_EQ(pipe_use(hopper, "fp32").cycles, 2);
  EXPECT_EQ(pipe_use(hopper, "integer_multiply").pipe, Pipe::fma_heavy);
  EXPECT_DOUBLE_EQ(pipe_use(hopper, "fp64").cycles, 2);
  EXPECT_DOUBLE_EQ(pipe_use(*machine_for(89).model, "fp64").cycles, 64);
  EXPECT_EQ(pipe_use(*machine_for(70).model, "fp32").pipe, Pipe::fma_heavy) << "there is one half";
}

// Errors: each case breaks one field of a good file.

nlohmann::json file_with_prediction() {
  for (const MachineData& data : machine_data()) {
    if (data.file == "nvidia_h100.json") return nlohmann::json::parse(data.json);
  }
  return {};
}

nlohmann::json good_file() {
  for (const MachineData& data : machine_data()) {
    if (data.file == "sm_90.json") return nlohmann::json::parse(data.json);
  }
  return {};
}

std::string error_of(const std::string& json) {
  const auto model = parse_machine(json, "mine.json");
  return model.ok() ? "" : model.error().message();
}

TEST(ParseMachine, TakesAGoodFile) {
  EXPECT_EQ(error_of(good_file().dump()), "");
}

TEST(ParseMachine, SaysWhereTheFileIsNoJson) {
  EXPECT_NE(error_of("{\"name\": }").find("mine.json, byte 10: this is not JSON"),
            std::string::npos)
      << error_of("{\"name\": }");
  EXPECT_NE(error_of("").find("mine.json"), std::string::npos);
  EXPECT_NE(error_of("[1]").find("must hold one object"), std::string::npos);
  EXPECT_NE(error_of(std::string(100'000, '[')).find("not JSON"), std::string::npos);
}

TEST(ParseMachine, NamesAFieldThatIsMissing) {
  for (const char* field :
       {"name", "arch", "source", "schedulers", "multiprocessors", "occupancy", "latency"}) {
    auto file = good_file();
    file.erase(field);
    const std::string message = error_of(file.dump());
    EXPECT_NE(message.find("mine.json: the field \"" + std::string(field) + "\" is missing"),
              std::string::npos)
        << message;
  }
  const auto limits = good_file()["occupancy"];
  EXPECT_EQ(limits.size(), 13u);
  for (const auto& [field, value] : limits.items()) {
    auto file = good_file();
    file["occupancy"].erase(field);
    EXPECT_NE(error_of(file.dump()).find("\"occupancy." + field + "\" is missing"),
              std::string::npos);
  }
  auto file = good_file();
  file["latency"].erase("default");
  EXPECT_NE(error_of(file.dump()).find("\"latency.default\" is missing"), std::string::npos);
}

TEST(ParseMachine, NamesAFieldThatIsWrong) {
  const auto broken = [](const char* pointer, nlohmann::json value) {
    auto file = good_file();
    file[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return error_of(file.dump());
  };
  EXPECT_NE(broken("/name", 3).find("\"name\" must be a text"), std::string::npos);
  EXPECT_NE(broken("/occupancy", 3).find("\"occupancy\" must be an object"), std::string::npos);
  for (const nlohmann::json& value :
       {nlohmann::json(0), nlohmann::json(-4), nlohmann::json(1.5), nlohmann::json("4"),
        nlohmann::json(1e12), nlohmann::json(5'000'000'000u), nlohmann::json()}) {
    EXPECT_NE(broken("/occupancy/warp_unit", value).find("\"occupancy.warp_unit\" must be"),
              std::string::npos)
        << value;
  }
  EXPECT_NE(broken("/latency/fp32", 4).find("\"latency.fp32\" must be [min, max]"),
            std::string::npos);
  EXPECT_NE(broken("/latency/fp32", {4, -1}).find("\"latency.fp32\" must be"), std::string::npos);
  EXPECT_NE(broken("/latency/fp32", {5, 4}).find("min above max"), std::string::npos);
}

TEST(ParseMachine, NamesAFieldOfPredictionThatIsMissingOrWrong) {
  const auto message_with = [](const char* pointer, nlohmann::json value) {
    auto file = file_with_prediction();
    const nlohmann::json::json_pointer place(pointer);
    if (value.is_null()) {
      file[place.parent_pointer()].erase(place.back());
    } else {
      file[place] = std::move(value);
    }
    return error_of(file.dump());
  };
  EXPECT_NE(message_with("/prediction", 3).find("\"prediction\" must be an object"),
            std::string::npos);
  for (const char* pointer :
       {"/prediction/clock_mhz", "/prediction/memory/dram_latency",
        "/prediction/memory/l2_bytes_per_second", "/prediction/launch/empty_kernel_us",
        "/prediction/classes/default", "/prediction/classes/fp32/lanes"}) {
    const std::string name = std::string(pointer).substr(std::string(pointer).rfind('/') + 1);
    EXPECT_NE(message_with(pointer, nullptr).find(name + "\" is missing"), std::string::npos)
        << message_with(pointer, nullptr);
    EXPECT_NE(message_with(pointer, -1).find(name + "\" must be"), std::string::npos)
        << message_with(pointer, -1);
  }
  EXPECT_EQ(message_with("/prediction/curves", {1, 2, 3}), "")
      << "other tools' names are passed over";
}

}  // namespace
}  // namespace fathom
