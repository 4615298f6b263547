// SPDX-License-Identifier: BSD-3-Clause
// The order of events, for both roles in one thread and for each alone.

#include "tools/quickstart/session.h"

#include <endian.h>

#include <cstdio>
#include <memory>
#include <string>

#include "tools/quickstart/client.h"
#include "tools/quickstart/failure.h"
#include "tools/quickstart/network.h"
#include "tools/quickstart/server.h"
#include "tools/quickstart/source.h"
#include "tools/quickstart/summary.h"

namespace rpma::quickstart {
namespace {

constexpr uint64_t kGeneratedSize = uint64_t{256} << 20;
constexpr uint64_t kServerRegionSize = kDataOffset + kGeneratedSize;

std::unique_ptr<Source> OpenSource(const Options& options) {
  return options.file.empty() ? GenerateContent(kGeneratedSize)
                              : OpenFile(options.file);
}

// At once, so that it comes before what stderr gets.
void Say(const std::string& text) {
  printf("%s\n", text.c_str());
  fflush(stdout);
}

std::string Place(const Options& options) {
  return Text(options.address, " port ", options.port);
}

void Report(const Options& options, const Summary& summary) {
  fputs((options.json ? ForPrograms(summary) : ForPeople(summary)).c_str(),
        stdout);
}

// One thread plays both sides. Nothing below waits for the other side before
// that side has done its part, and the active side reads its event first: that
// is what lets the passive side's event come.
void RunBoth(const Options& options, const Signals& signals) {
  const std::unique_ptr<Source> source = OpenSource(options);
  const uint64_t region_size = options.region_size != 0
                                   ? options.region_size
                                   : kDataOffset + source->size();
  Server server(options.address, options.port, region_size, signals);
  Client client(options.address, options.port, signals);
  if (!options.json) {
    Say(Text("Replicating ", source->size(), " bytes into the memory of ",
             Place(options), " over ",
             IsEmulated() ? "an emulated RDMA network." : "an RDMA device."));
  }
  client.Connect();
  server.Accept();
  client.AwaitAcceptance();
  server.connection().AwaitEstablished();

  Summary summary;
  server.OfferRegion();
  client.Replicate(source.get(), &summary);
  server.ConfirmCommit();
  client.Verify(&summary);

  server.OfferStaleRegion();
  client.WriteToStaleRegion(&summary);

  client.connection().Disconnect();
  server.connection().AwaitClosed();
  server.connection().Disconnect();
  client.connection().AwaitClosed();
  Report(options, summary);
}

void RunClient(const Options& options, const Signals& signals) {
  const std::unique_ptr<Source> source = OpenSource(options);
  Client client(options.address, options.port, signals);
  client.Connect();
  client.AwaitAcceptance();

  Summary summary;
  client.Replicate(source.get(), &summary);
  client.Verify(&summary);
  client.WriteToStaleRegion(&summary);

  client.connection().Disconnect();
  client.connection().AwaitClosed();
  Report(options, summary);
}

void RunServer(const Options& options, const Signals& signals) {
  const uint64_t region_size =
      options.region_size != 0 ? options.region_size : kServerRegionSize;
  Server server(options.address, options.port, region_size, signals);
  Say(Text("Waiting for a client on ", Place(options), " with a region of ",
           Mebibytes(region_size), "; Ctrl-C ends this."));
  server.Accept();
  server.connection().AwaitEstablished();

  server.OfferRegion();
  const Receipt receipt = server.ConfirmCommit();
  server.OfferStaleRegion();

  server.connection().AwaitClosed();
  server.connection().Disconnect();
  Say(Text("Received and verified ", le64toh(receipt.length),
           " bytes, SHA-256 ", Hex(receipt.memory), "."));
}

}  // namespace

void Run(const Options& options, const Signals& signals) {
  switch (options.role) {
    case Role::kBoth:
      return RunBoth(options, signals);
    case Role::kClient:
      return RunClient(options, signals);
    case Role::kServer:
      return RunServer(options, signals);
  }
}

}  // namespace rpma::quickstart
