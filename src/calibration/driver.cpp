#include "calibration/driver.h"

#include <dlfcn.h>

#include <utility>

#include "base/text.h"

namespace fathom {
namespace {

// From cuda.h.
constexpr int kInputPtx = 1;
constexpr int kErrorLog = 5, kErrorLogBytes = 6;
constexpr int kMaxDynamicShared = 8;
constexpr int kCaptureThreadLocal = 1;
constexpr unsigned kNonBlockingStream = 1;

Error missing(std::string what) {
  return {ErrorKind::cannot_answer, std::move(what), "",
          "calibration needs an NVIDIA GPU and its driver (libcuda.so.1)"};
}

}  // namespace

struct CudaDriver::Functions {
  int (*init)(unsigned);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*attribute)(int*, int, int);
  int (*pci_bus)(char*, int, int);
  int (*retain)(void**, int);
  int (*release)(int);
  int (*set_current)(void*);
  int (*synchronize)();
  int (*error_string)(int, const char**);
  int (*link_create)(unsigned, int*, void**, void**);
  int (*link_add)(void*, int, void*, size_t, const char*, unsigned, int*, void**);
  int (*link_complete)(void*, void**, size_t*);
  int (*link_destroy)(void*);
  int (*module_load)(void**, const void*);
  int (*module_unload)(void*);
  int (*module_function)(void**, void*, const char*);
  int (*function_attribute)(void*, int, int);
  int (*allocate)(DeviceAddress*, size_t);
  int (*free)(DeviceAddress);
  int (*fill)(DeviceAddress, unsigned char, size_t);
  int (*to_device)(DeviceAddress, const void*, size_t);
  int (*to_host)(void*, DeviceAddress, size_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*stream_create)(void**, unsigned);
  int (*stream_destroy)(void*);
  int (*event_create)(void**, unsigned);
  int (*event_destroy)(void*);
  int (*event_record)(void*, void*);
  int (*event_wait)(void*);
  int (*event_elapsed)(float*, void*, void*);
  int (*capture_begin)(void*, int);
  int (*capture_end)(void*, void**);
  int (*graph_instantiate)(void**, void*, unsigned long long);
  int (*graph_launch)(void*, void*);
  int (*graph_exec_destroy)(void*);
  int (*graph_destroy)(void*);

  /// The first name that the library lacks, or null.
  const char* load(void* library) {
    const char* lacking = nullptr;
    auto get = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function && !lacking) lacking = name;
    };
    get(init, "cuInit");
    get(device_get, "cuDeviceGet");
    get(device_name, "cuDeviceGetName");
    get(attribute, "cuDeviceGetAttribute");
    get(pci_bus, "cuDeviceGetPCIBusId");
    get(retain, "cuDevicePrimaryCtxRetain");
    get(release, "cuDevicePrimaryCtxRelease_v2");
    get(set_current, "cuCtxSetCurrent");
    get(synchronize, "cuCtxSynchronize");
    get(error_string, "cuGetErrorString");
    get(link_create, "cuLinkCreate_v2");
    get(link_add, "cuLinkAddData_v2");
    get(link_complete, "cuLinkComplete");
    get(link_destroy, "cuLinkDestroy");
    get(module_load, "cuModuleLoadData");
    get(module_unload, "cuModuleUnload");
    get(module_function, "cuModuleGetFunction");
    get(function_attribute, "cuFuncSetAttribute");
    get(allocate, "cuMemAlloc_v2");
    get(free, "cuMemFree_v2");
    get(fill, "cuMemsetD8_v2");
    get(to_device, "cuMemcpyHtoD_v2");
    get(to_host, "cuMemcpyDtoH_v2");
    get(launch, "cuLaunchKernel");
    get(stream_create, "cuStreamCreate");
    get(stream_destroy, "cuStreamDestroy_v2");
    get(event_create, "cuEventCreate");
    get(event_destroy, "cuEventDestroy_v2");
    get(event_record, "cuEventRecord");
    get(event_wait, "cuEventSynchronize");
    get(event_elapsed, "cuEventElapsedTime");
    get(capture_begin, "cuStreamBeginCapture_v2");
    get(capture_end, "cuStreamEndCapture");
    get(graph_instantiate, "cuGraphInstantiateWithFlags");
    get(graph_launch, "cuGraphLaunch");
    get(graph_exec_destroy, "cuGraphExecDestroy");
    get(graph_destroy, "cuGraphDestroy");
    return lacking;
  }
};

Result<CudaDriver> CudaDriver::open(int device) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return missing("there is no CUDA driver here");
  CudaDriver driver;
  driver.cuda_ = new Functions;
  if (const char* lacking = driver.cuda_->load(library))
    return missing(format("the CUDA driver is too old: it has no %s", lacking));
  Result<Done> started = driver.start(device);
  if (!started) return started.error();
  return driver;
}

Result<Done> CudaDriver::start(int device) {
  if (Result<Done> done = check(cuda_->init(0), "cuInit"); !done) return done;
  if (Result<Done> done = check(cuda_->device_get(&device_, device), "cuDeviceGet"); !done)
    return done;
  char name[256] = "";
  cuda_->device_name(name, sizeof(name), device_);
  name_ = name;
  void* context = nullptr;
  if (Result<Done> done = check(cuda_->retain(&context, device_), "cuDevicePrimaryCtxRetain");
      !done)
    return done;
  retained_ = true;
  cuda_->set_current(context);
  if (Result<Done> done =
          check(cuda_->stream_create(&stream_, kNonBlockingStream), "cuStreamCreate");
      !done)
    return done;
  if (Result<Done> done = check(cuda_->event_create(&begin_, 0), "cuEventCreate"); !done)
    return done;
  return check(cuda_->event_create(&end_, 0), "cuEventCreate");
}

CudaDriver::CudaDriver(CudaDriver&& other) noexcept
    : cuda_(std::exchange(other.cuda_, nullptr)),
      device_(other.device_),
      name_(std::move(other.name_)),
      stream_(other.stream_),
      begin_(other.begin_),
      end_(other.end_),
      modules_(std::move(other.modules_)),
      retained_(std::exchange(other.retained_, false)) {}

CudaDriver::~CudaDriver() {
  if (!cuda_) return;
  if (retained_) {
    for (void* module : modules_) cuda_->module_unload(module);
    if (begin_) cuda_->event_destroy(begin_);
    if (end_) cuda_->event_destroy(end_);
    if (stream_) cuda_->stream_destroy(stream_);
    cuda_->release(device_);
  }
  delete cuda_;
}

Result<Done> CudaDriver::check(int status, const char* call) const {
  if (status == 0) return Done{};
  const char* reason = nullptr;
  cuda_->error_string(status, &reason);
  return Error{ErrorKind::cannot_answer,
               format("%s failed: %s", call, reason ? reason : std::to_string(status).c_str()),
               name_, ""};
}

int CudaDriver::attribute(DeviceAttribute attribute) const {
  int value = 0;
  cuda_->attribute(&value, static_cast<int>(attribute), device_);
  return value;
}

unsigned CudaDriver::compute() const {
  return static_cast<unsigned>(attribute(DeviceAttribute::compute_major) * 10 +
                               attribute(DeviceAttribute::compute_minor));
}

std::string CudaDriver::pci_bus() const {
  char text[32] = "";
  cuda_->pci_bus(text, sizeof(text), device_);
  return text;
}

Result<std::vector<uint8_t>> CudaDriver::compile(const std::string& ptx) const {
  std::string log(4096, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  void* link = nullptr;
  if (Result<Done> done = check(cuda_->link_create(2, options, values, &link), "cuLinkCreate");
      !done)
    return done.error();
  void* image = nullptr;
  size_t size = 0;
  int status = cuda_->link_add(link, kInputPtx, const_cast<char*>(ptx.c_str()), ptx.size() + 1,
                               "microbenchmark", 0, nullptr, nullptr);
  if (status == 0) status = cuda_->link_complete(link, &image, &size);
  Result<Done> done = check(status, "compiling PTX");
  std::vector<uint8_t> cubin;
  if (done.ok()) {
    const uint8_t* bytes = static_cast<const uint8_t*>(image);
    cubin.assign(bytes, bytes + size);
  }
  cuda_->link_destroy(link);
  if (!done.ok()) {
    Error error = done.error();
    error.hint = log.c_str();
    return error;
  }
  return cubin;
}

Result<void*> CudaDriver::load(const std::vector<uint8_t>& cubin, const std::string& function) {
  void* module = nullptr;
  if (Result<Done> done = check(cuda_->module_load(&module, cubin.data()), "cuModuleLoadData");
      !done)
    return done.error();
  modules_.push_back(module);
  void* handle = nullptr;
  Result<Done> done =
      check(cuda_->module_function(&handle, module, function.c_str()), "cuModuleGetFunction");
  if (!done) return done.error();
  return handle;
}

Result<Done> CudaDriver::allow_shared(void* function, uint32_t bytes) const {
  return check(cuda_->function_attribute(function, kMaxDynamicShared, static_cast<int>(bytes)),
               "cuFuncSetAttribute");
}

Result<DeviceAddress> CudaDriver::allocate(size_t bytes) {
  DeviceAddress address = 0;
  Result<Done> done = check(cuda_->allocate(&address, bytes), "cuMemAlloc");
  if (!done) return done.error();
  return address;
}

void CudaDriver::free(DeviceAddress address) {
  cuda_->free(address);
}

Result<Done> CudaDriver::fill(DeviceAddress address, uint8_t value, size_t bytes) const {
  Result<Done> done = check(cuda_->fill(address, value, bytes), "cuMemset");
  return done.ok() ? wait() : done;
}

Result<Done> CudaDriver::write(DeviceAddress to, const void* from, size_t bytes) const {
  Result<Done> done = check(cuda_->to_device(to, from, bytes), "cuMemcpyHtoD");
  return done.ok() ? wait() : done;
}

Result<Done> CudaDriver::read(void* to, DeviceAddress from, size_t bytes) const {
  return check(cuda_->to_host(to, from, bytes), "cuMemcpyDtoH");
}

Result<Done> CudaDriver::launch(void* function, GridShape shape,
                                const std::vector<uint64_t>& arguments) const {
  std::vector<void*> pointers;
  for (const uint64_t& argument : arguments) pointers.push_back(const_cast<uint64_t*>(&argument));
  return check(cuda_->launch(function, shape.blocks, 1, 1, shape.threads, 1, 1, shape.shared,
                             stream_, pointers.data(), nullptr),
               "cuLaunchKernel");
}

Result<Done> CudaDriver::wait() const {
  return check(cuda_->synchronize(), "cuCtxSynchronize");
}

Result<double> CudaDriver::time_us(void* function, GridShape shape,
                                   const std::vector<uint64_t>& arguments, int launches) const {
  cuda_->event_record(begin_, stream_);
  for (int i = 0; i < launches; ++i)
    if (Result<Done> done = launch(function, shape, arguments); !done) return done.error();
  cuda_->event_record(end_, stream_);
  float milliseconds = 0;
  Result<Done> done = check(cuda_->event_wait(end_), "cuEventSynchronize");
  if (!done) return done.error();
  cuda_->event_elapsed(&milliseconds, begin_, end_);
  return milliseconds * 1e3;
}

Result<double> CudaDriver::graph_time_us(void* function, GridShape shape,
                                         const std::vector<uint64_t>& arguments,
                                         int launches) const {
  void *graph = nullptr, *executable = nullptr;
  Result<Done> done =
      check(cuda_->capture_begin(stream_, kCaptureThreadLocal), "cuStreamBeginCapture");
  if (!done) return done.error();
  for (int i = 0; i < launches && done.ok(); ++i) done = launch(function, shape, arguments);
  Result<Done> ended = check(cuda_->capture_end(stream_, &graph), "cuStreamEndCapture");
  if (!done || !ended) return done.ok() ? ended.error() : done.error();
  done = check(cuda_->graph_instantiate(&executable, graph, 0), "cuGraphInstantiate");
  float milliseconds = 0;
  if (done.ok()) {
    cuda_->graph_launch(executable, stream_);
    cuda_->event_record(begin_, stream_);
    cuda_->graph_launch(executable, stream_);
    cuda_->event_record(end_, stream_);
    done = check(cuda_->event_wait(end_), "cuGraphLaunch");
    if (done.ok()) cuda_->event_elapsed(&milliseconds, begin_, end_);
    cuda_->graph_exec_destroy(executable);
  }
  cuda_->graph_destroy(graph);
  if (!done) return done.error();
  return milliseconds * 1e3;
}

Result<DeviceBuffer> DeviceBuffer::make(CudaDriver& driver, size_t bytes) {
  Result<DeviceAddress> address = driver.allocate(bytes);
  if (!address) return address.error();
  return DeviceBuffer(&driver, address.value(), bytes);
}

}  // namespace fathom
