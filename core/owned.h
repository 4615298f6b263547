// SPDX-License-Identifier: BSD-3-Clause
//
// Move-only owners of the objects a Transport hands out.
//
// An owner that goes out of scope destroys its object, so what is half built
// unwinds by itself, in the reverse order of building. Orderly tear-down is
// explicit, because destroying can fail and the API reports it.

#ifndef RPMA_CORE_OWNED_H_
#define RPMA_CORE_OWNED_H_

#include <utility>

#include "core/log.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// `Kind` describes one sort of object:
//   using Handle = ...;                 what the Transport knows it by
//   static constexpr char kCall[];      the call that destroys it, for the log
//   static Errno Destroy(Transport&, Handle*);
template <typename Kind>
class Owned {
 public:
  using Handle = typename Kind::Handle;

  Owned() = default;
  Owned(Transport& transport, Handle* handle)
      : transport_(&transport), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : transport_(other.transport_),
        handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      (void)DestroyOrAbandon();
      transport_ = other.transport_;
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Owned() { (void)DestroyOrAbandon(); }

  Handle* get() const { return handle_; }
  Handle* operator->() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

  // Destroys the object, if there is one. kProvider, logged: the object is
  // alive and still owned; a later attempt may succeed.
  Rc Destroy() {
    if (handle_ == nullptr) return Rc::kOk;
    const Errno error = Kind::Destroy(*transport_, handle_);
    if (error != Errno::kOk) {
      RPMA_LOG(ERROR, "%s(%p) failed: %s", Kind::kCall,
               static_cast<void*>(handle_), log::Reason(error));
      return Rc::kProvider;
    }
    handle_ = nullptr;
    return Rc::kOk;
  }

  // As Destroy(), but owns nothing afterwards: for tear-down that has one try,
  // after which the user has no handle left to try again with.
  Rc DestroyOrAbandon() {
    const Rc rc = Destroy();
    handle_ = nullptr;
    return rc;
  }

 private:
  Transport* transport_ = nullptr;
  Handle* handle_ = nullptr;
};

struct PdKind {
  using Handle = ibv_pd;
  static constexpr char kCall[] = "ibv_dealloc_pd";
  static Errno Destroy(Transport& transport, ibv_pd* pd) {
    return transport.DeallocPd(pd);
  }
};

struct MrKind {
  using Handle = ibv_mr;
  static constexpr char kCall[] = "ibv_dereg_mr";
  static Errno Destroy(Transport& transport, ibv_mr* mr) {
    return transport.DeregMr(mr);
  }
};

struct CompChannelKind {
  using Handle = ibv_comp_channel;
  static constexpr char kCall[] = "ibv_destroy_comp_channel";
  static Errno Destroy(Transport& transport, ibv_comp_channel* channel) {
    return transport.DestroyCompChannel(channel);
  }
};

struct CqKind {
  using Handle = ibv_cq;
  static constexpr char kCall[] = "ibv_destroy_cq";
  static Errno Destroy(Transport& transport, ibv_cq* cq) {
    return transport.DestroyCq(cq);
  }
};

struct SrqKind {
  using Handle = ibv_srq;
  static constexpr char kCall[] = "ibv_destroy_srq";
  static Errno Destroy(Transport& transport, ibv_srq* srq) {
    return transport.DestroySrq(srq);
  }
};

struct EventChannelKind {
  using Handle = rdma_event_channel;
  static constexpr char kCall[] = "rdma_destroy_event_channel";
  static Errno Destroy(Transport& transport, rdma_event_channel* channel) {
    transport.DestroyEventChannel(channel);
    return Errno::kOk;
  }
};

struct IdKind {
  using Handle = rdma_cm_id;
  static constexpr char kCall[] = "rdma_destroy_id";
  static Errno Destroy(Transport& transport, rdma_cm_id* id) {
    return transport.DestroyId(id);
  }
};

// The queue pair of a CM id, which is known by the id.
struct QpKind {
  using Handle = rdma_cm_id;
  static constexpr char kCall[] = "ibv_destroy_qp";
  static Errno Destroy(Transport& transport, rdma_cm_id* id) {
    return transport.DestroyQp(id);
  }
};

struct AddrInfoKind {
  using Handle = rdma_addrinfo;
  static constexpr char kCall[] = "rdma_freeaddrinfo";
  static Errno Destroy(Transport& transport, rdma_addrinfo* info) {
    transport.FreeAddrInfo(info);
    return Errno::kOk;
  }
};

// An event that GetCmEvent() delivered; destroying it acknowledges it. It must
// not stay unacknowledged: destroying its id would wait for it for ever.
struct CmEventKind {
  using Handle = rdma_cm_event;
  static constexpr char kCall[] = "rdma_ack_cm_event";
  static Errno Destroy(Transport& transport, rdma_cm_event* event) {
    return transport.AckCmEvent(event);
  }
};

using OwnedPd = Owned<PdKind>;
using OwnedMr = Owned<MrKind>;
using OwnedCompChannel = Owned<CompChannelKind>;
using OwnedCq = Owned<CqKind>;
using OwnedSrq = Owned<SrqKind>;
using OwnedEventChannel = Owned<EventChannelKind>;
using OwnedId = Owned<IdKind>;
using OwnedQp = Owned<QpKind>;
using OwnedAddrInfo = Owned<AddrInfoKind>;
using OwnedCmEvent = Owned<CmEventKind>;

}  // namespace rpma

#endif  // RPMA_CORE_OWNED_H_
