// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the ids of a device that a fault has struck, and of their
// peers.

#include "emulator/cm_impl.h"

namespace rpma::emu {

template <typename Work>
void ConnectionManager::Impl::ForEachId(Work work) {
  for (uint64_t done = 0;;) {
    const auto next = ids.upper_bound(done);
    if (next == ids.end()) return;
    done = next->first;
    const std::shared_ptr<CmId> id = next->second;
    if (id->state != CmState::kDestroyed) work(id);
  }
}

void ConnectionManager::Impl::EndPatienceElsewhere(Lock& lock,
                                                   const Device& device) {
  for (const auto& [key, id] : far_ids) {
    if (id->remote == &device) EndPatience(lock, *id);
  }
}

void ConnectionManager::CutOff(Device& device) {
  Impl::Lock lock(impl_->mutex);
  impl_->ForEachId([&](const std::shared_ptr<CmId>& id) {
    if (id->device == &device || id->remote == &device) {
      impl_->EndPatience(lock, *id);
    }
  });
  impl_->EndPatienceElsewhere(lock, device);
  impl_->Deliver(lock);
}

void ConnectionManager::EndProcess(Device& device) {
  Impl::Lock lock(impl_->mutex);
  impl_->ForEachId([&](const std::shared_ptr<CmId>& id) {
    if (id->device == &device) impl_->EndId(lock, id);
  });
  impl_->Deliver(lock);
}

void ConnectionManager::RemoveDevice(Device& device) {
  Impl::Lock lock(impl_->mutex);
  impl_->ForEachId([&](const std::shared_ptr<CmId>& id) {
    if (id->remote == &device) impl_->EndPatience(lock, *id);
    if (id->device != &device) return;
    impl_->StopTimer(*id);
    impl_->Post(*id, RDMA_CM_EVENT_DEVICE_REMOVAL);
    id->state = CmState::kRemoved;
  });
  impl_->EndPatienceElsewhere(lock, device);
  impl_->Deliver(lock);
}

}  // namespace rpma::emu
