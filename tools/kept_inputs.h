#pragma once

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// Throws Error if the chosen command was given one file both to read and to write, or twice to
/// write; only `train --base` may be the output. Links are followed; devices and pipes may serve
/// as both. Files are options of type FILE, folders of samples of type DIR.
void require_inputs_kept(const CLI::App& program);

}  // namespace neuroshard::tools
