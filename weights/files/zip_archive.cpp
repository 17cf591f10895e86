#include "weights/files/zip_archive.h"

#include <zip.h>

#include <algorithm>
#include <utility>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr zip_int64_t kMaxEntries = 65536;

/// libzip's error record, whose text must be released.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;

  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

struct CloseEntry {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

void ZipArchive::Discard::operator()(struct zip* archive) const { zip_discard(archive); }

ZipArchive::ZipArchive(std::string_view bytes, std::string where) : where_(std::move(where)) {
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get());
  if (source == nullptr) throw Error(where_ + ": cannot be read: " + error.text());
  archive_.reset(zip_open_from_source(source, ZIP_RDONLY, error.get()));
  if (!archive_) {
    zip_source_free(source);
    throw Error(
        where_ +
        ": is not a sound zip file, as torch.save writes them since PyTorch 1.6: " + error.text());
  }
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  if (entries > kMaxEntries) {
    throw Error(where_ + ": has " + std::to_string(entries) + " entries; more than any model");
  }
  for (zip_int64_t i = 0; i < entries; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* name = zip_get_name(archive_.get(), index, ZIP_FL_ENC_RAW);
    if (name == nullptr) throw Error(where_ + ": zip entry " + std::to_string(i) + " has no name");
    if (!indices_.emplace(name, index).second) {
      throw Error(where_ + ": has two zip entries '" + name + "'");
    }
  }
}

ZipArchive::~ZipArchive() = default;

std::vector<std::string> ZipArchive::names() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : indices_) names.push_back(name);
  return names;
}

std::string ZipArchive::read(const std::string& name, std::size_t max_bytes) const {
  const std::string place = where_ + ": zip entry '" + name + "'";
  const auto found = indices_.find(name);
  if (found == indices_.end()) throw Error(place + " is missing");
  zip_stat_t stat;
  if (zip_stat_index(archive_.get(), found->second, 0, &stat) != 0) {
    throw Error(place + ": " + zip_error_strerror(zip_get_error(archive_.get())));
  }
  if ((stat.valid & ZIP_STAT_COMP_METHOD) == 0 ||
      (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)) {
    throw Error(place + " is packed by a method other than stored or deflated; save it again");
  }
  if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE) {
    throw Error(place + " is encrypted; save it without a password");
  }
  const std::unique_ptr<zip_file_t, CloseEntry> entry(
      zip_fopen_index(archive_.get(), found->second, 0));
  if (!entry) throw Error(place + ": " + zip_error_strerror(zip_get_error(archive_.get())));
  // In pieces: the size that the archive states is only a claim.
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string bytes;
  while (true) {
    const std::size_t used = bytes.size();
    bytes.resize(used + kPiece);
    const zip_int64_t got = zip_fread(entry.get(), bytes.data() + used, kPiece);
    if (got < 0) {
      throw Error(place + " is damaged: " + zip_error_strerror(zip_file_get_error(entry.get())));
    }
    bytes.resize(used + static_cast<std::size_t>(got));
    if (bytes.size() > max_bytes) {
      throw Error(place + " has more than the " + std::to_string(max_bytes) + " bytes expected");
    }
    if (got == 0) return bytes;
  }
}

}  // namespace neuroshard
