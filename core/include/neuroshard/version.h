#pragma once

/// The version of the library that these headers belong to (docs/changelog.md). Before 1.0 a new
/// minor version may change the interface.
#define NEUROSHARD_VERSION_MAJOR 0
#define NEUROSHARD_VERSION_MINOR 1
#define NEUROSHARD_VERSION_PATCH 0
#define NEUROSHARD_VERSION "0.1.0"
