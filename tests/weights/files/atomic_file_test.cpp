#include "weights/files/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "message_of.h"
#include "temporary_folder.h"
#include "weights/files/read_file.h"

namespace neuroshard {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::UnorderedElementsAre;

std::string io_error(const auto& action) { return message_of(action, ErrorKind::kIo); }

TEST(AtomicFile, AppearsWholeAtTheEnd) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "out");
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(folder / "out"));
  file.commit();
  EXPECT_EQ(read_file(folder / "out"), "one two");
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

// Anybody can put a link to somebody's file where its owner will write.
TEST(AtomicFile, RefusesLinksOfOthersInSharedFolders) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes links of other users";
  constexpr uid_t kOther = 65534;
  const TemporaryFolder folder;
  folder.write("precious", "mine");
  fs::create_directory(folder / "shared");
  const std::string link = folder / "shared/out";
  const auto expect_refused = [&] {
    const std::string error = io_error([&] { write_file(link, "theirs"); });
    EXPECT_THAT(error, HasSubstr("shared/out is a link of another user in a shared folder"));
  };
  for (const char* target : {"precious", "not yet there", "/dev/null"}) {
    SCOPED_TRACE(target);
    fs::create_symlink(fs::path(folder / "") / target, link);
    ASSERT_EQ(::lchown(link.c_str(), kOther, kOther), 0);
    fs::permissions(folder / "shared", fs::perms(01777));
    expect_refused();
    // By way of a link of this user's, too.
    fs::create_symlink("shared/out", folder / "own");
    EXPECT_THAT(io_error([&] { write_file(folder / "own", "theirs"); }), HasSubstr("another user"));
    fs::remove(folder / "own");
    // Links of one's own, of the folder's owner, and in folders that are not sticky are followed.
    fs::permissions(folder / "shared", fs::perms(0777));
    EXPECT_NO_THROW(AtomicFile{link});
    fs::permissions(folder / "shared", fs::perms(01777));
    ASSERT_EQ(::chown((folder / "shared").c_str(), kOther, kOther), 0);
    EXPECT_NO_THROW(AtomicFile{link});
    ASSERT_EQ(::lchown(link.c_str(), 0, 0), 0);
    EXPECT_NO_THROW(AtomicFile{link});
    ASSERT_EQ(::chown((folder / "shared").c_str(), 0, 0), 0);
    fs::remove(link);
  }
  EXPECT_EQ(read_file(folder / "precious"), "mine");
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  { AtomicFile(folder / "out").write("half"); }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, LeavesNothingWhenKilled) {
  const TemporaryFolder folder;
  const int unnamed = ::open((folder / "").c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no files without names";
  ::close(unnamed);
  for (const int signal : {SIGKILL, SIGXFSZ, SIGTERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      AtomicFile file(folder / "out");
      file.write("half");
      ::raise(signal);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_THAT(folder.names(), IsEmpty()) << signal;
  }
}

TEST(AtomicFile, ReplacesAFileAndKeepsItsPermissions) {
  const TemporaryFolder folder;
  write_file(folder / "out", "old");
  fs::permissions(folder / "out", fs::perms::owner_read | fs::perms::owner_write);
  { AtomicFile(folder / "out").write("half"); }
  EXPECT_EQ(read_file(folder / "out"), "old");
  write_file(folder / "out", "new");
  EXPECT_EQ(read_file(folder / "out"), "new");
  EXPECT_EQ(fs::status(folder / "out").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

TEST(AtomicFile, FollowsLinks) {
  const TemporaryFolder folder;
  write_file(folder / "target", "old");
  fs::create_symlink("target", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "new");
  fs::remove(folder / "target");
  write_file(folder / "link", "newer");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "newer");
  EXPECT_THAT(folder.names(), UnorderedElementsAre("link", "target"));
}

TEST(AtomicFile, TwoWritersDoNotDisturbEachOther) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "out");
  AtomicFile second(folder / "out");
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(read_file(folder / "out"), "second");
  first.commit();
  EXPECT_EQ(read_file(folder / "out"), "first");
}

TEST(AtomicFile, SaysWhyItCannotBeOpened) {
  const TemporaryFolder folder;
  EXPECT_THAT(io_error([&] { write_file(folder / "no/out", "x"); }),
              HasSubstr("out: cannot be written: No such file or directory"));
  EXPECT_EQ(io_error([&] { write_file(folder.path(), "x"); }),
            folder.path().string() + ": cannot be written: Is a directory");
  EXPECT_THAT(io_error([] { write_file("", "x"); }), HasSubstr("cannot be written"));
  if (::geteuid() != 0) {  // Nothing is read-only for root.
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_THAT(io_error([&] { write_file(folder / "out", "x"); }), HasSubstr("Permission denied"));
    fs::permissions(folder.path(), fs::perms::owner_all);
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, WritesToADeviceDirectly) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(io_error([] { write_file("/dev/full", "x"); }),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A limit on the size of files stands for a disk that fills up.
TEST(AtomicFile, RemovesWhatItWroteWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  write_file(folder / "out", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto previous_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error =
      io_error([&] { write_file(folder / "out", std::string(100'000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, previous_handler);
  EXPECT_THAT(error, HasSubstr("out: cannot be written: File too large"));
  EXPECT_EQ(read_file(folder / "out"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

TEST(ReadFile, RefusesFilesThatAreTooLarge) {
  const TemporaryFolder folder;
  write_file(folder / "in", std::string(1000, 'x'));
  EXPECT_EQ(read_file(folder / "in", 1000).size(), 1000U);
  EXPECT_THAT(io_error([&] { (void)read_file(folder / "in", 999); }),
              HasSubstr("in: cannot be read: it has more than 999 bytes"));
  EXPECT_THAT(io_error([] { (void)read_file("/dev/zero", 1000); }), HasSubstr("more than 1000"));
  EXPECT_EQ(read_file("/dev/null"), "");
  EXPECT_EQ(io_error([] { (void)read_file(""); }), "no file name given");
}

}  // namespace
}  // namespace neuroshard
