#include "tools/collecting/access_files.h"

#include "neuroshard/error.h"

namespace neuroshard::tools {

AccessData open_accesses(const AccessFiles& files) {
  const bool numpy = files.accesses.ends_with(".npy");
  const bool has_lengths = !files.lengths.empty();
  const bool has_offsets = !files.offsets.empty();
  if (!numpy) {
    if (has_lengths || has_offsets || files.batch) {
      throw Error(files.accesses +
                  ": is not named .npy, so it has lengths and offsets of its "
                  "own; leave out --lengths, --offsets and --batch");
    }
    return open_torch_accesses(files.accesses, files.batches);
  }
  if (has_lengths == has_offsets) {
    throw Error(files.accesses +
                ": indices need one more file; give either --lengths or --offsets");
  }
  if (has_offsets != files.batch.has_value()) {
    throw Error("--batch says how the numbers of --offsets divide into tables; give both");
  }
  return has_lengths ? open_npy_accesses(files.accesses, files.lengths, files.batches)
                     : open_npy_offsets(files.accesses, files.offsets, *files.batch, files.batches);
}

}  // namespace neuroshard::tools
