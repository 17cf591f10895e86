#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstring>

#include "cuda/device/device_blas.h"
#include "neuroshard/error.h"

namespace neuroshard::gpu {
namespace {

// The functions in use, found in the library by name, with the types of its header.
struct Cublas {
  decltype(&cublasCreate) create = nullptr;
  decltype(&cublasDestroy) destroy = nullptr;
  decltype(&cublasGetProperty) get_property = nullptr;
  decltype(&cublasSetStream) set_stream = nullptr;
  decltype(&cublasSgemm) sgemm = nullptr;
  decltype(&cublasSgemv) sgemv = nullptr;
  std::string name;
  std::string problem;
};

#define NEUROSHARD_NAME_OF(function) NEUROSHARD_TEXT_OF(function)
#define NEUROSHARD_TEXT_OF(function) #function

template <typename Function>
void find(void* library, Cublas& cublas, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    cublas.problem = cublas.name + " has no " + name + "; use the one of CUDA " +
                     std::to_string(CUDART_VERSION / 1000);
}

Cublas load() {
  Cublas cublas;
  cublas.name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  // Stays loaded: unloading at exit would race with the driver's own clean-up.
  void* library = dlopen(cublas.name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    cublas.problem =
        cublas.name +
        " was not found; it comes with the CUDA toolkit, and with pip as nvidia-cublas: "
        "put its folder on LD_LIBRARY_PATH";
    return cublas;
  }
  // The header's names are macros for those with a version, e.g. cublasSgemv_v2.
  find(library, cublas, cublas.create, NEUROSHARD_NAME_OF(cublasCreate));
  find(library, cublas, cublas.destroy, NEUROSHARD_NAME_OF(cublasDestroy));
  find(library, cublas, cublas.get_property, NEUROSHARD_NAME_OF(cublasGetProperty));
  find(library, cublas, cublas.set_stream, NEUROSHARD_NAME_OF(cublasSetStream));
  find(library, cublas, cublas.sgemm, NEUROSHARD_NAME_OF(cublasSgemm));
  find(library, cublas, cublas.sgemv, NEUROSHARD_NAME_OF(cublasSgemv));
  return cublas;
}

const Cublas& cublas() {
  static const Cublas loaded = load();
  return loaded;
}

void require(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool memory =
      status == CUBLAS_STATUS_ALLOC_FAILED ||
      (status == CUBLAS_STATUS_NOT_INITIALIZED && std::strcmp(call, "cublasCreate") == 0);
  throw Error(std::string("cuBLAS: ") + call + " failed with status " +
                  std::to_string(static_cast<int>(status)) +
                  (memory ? "; free device memory, or compute on the CPU (--backend cpu)"
                          : "; compute on the CPU (--backend cpu)"),
              ErrorKind::kBackend);
}

class CublasHandle final : public DeviceBlas {
 public:
  explicit CublasHandle(cudaStream_t stream) {
    require(cublas().create(&handle_), "cublasCreate");
    // The default math mode computes in fp32: TF32 would have to be asked for.
    const cublasStatus_t stream_set = cublas().set_stream(handle_, stream);
    if (stream_set == CUBLAS_STATUS_SUCCESS) return;
    (void)cublas().destroy(handle_);
    require(stream_set, "cublasSetStream");
  }
  ~CublasHandle() override { (void)cublas().destroy(handle_); }
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  void multiply(Operand a_as, Operand b_as, int m, int n, int k, const float* a, int lda,
                const float* b, int ldb, float* c, int ldc) override {
    require(cublas().sgemm(handle_, operation(a_as), operation(b_as), m, n, k, &kOne, a, lda, b,
                           ldb, &kZero, c, ldc),
            "cublasSgemm");
  }

  void multiply_vector_transposed(int k, int n, const float* a, int lda, const float* x,
                                  float* y) override {
    require(cublas().sgemv(handle_, CUBLAS_OP_T, k, n, &kOne, a, lda, x, 1, &kZero, y, 1),
            "cublasSgemv");
  }

 private:
  static cublasOperation_t operation(Operand operand) {
    return operand == Operand::kTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  }

  static constexpr float kOne = 1.0F;
  static constexpr float kZero = 0.0F;

  cublasHandle_t handle_ = nullptr;
};

}  // namespace

bool cublas_found() { return cublas().problem.empty(); }

std::string cublas_description() {
  if (!cublas_found()) return "none: " + cublas().problem;
  std::string version;
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    require(cublas().get_property(part, &number), "cublasGetProperty");
    if (!version.empty()) version += '.';
    version += std::to_string(number);
  }
  return version + " (" + cublas().name + ")";
}

std::unique_ptr<DeviceBlas> make_cublas(cudaStream_t stream) {
  if (!cublas_found()) throw Error("cuBLAS: " + cublas().problem, ErrorKind::kBackend);
  return std::make_unique<CublasHandle>(stream);
}

}  // namespace neuroshard::gpu
