"""Audit a training of Opacus on scikit-learn's digits, and one whose noise got lost."""

import torch
from opacus import PrivacyEngine
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import dpcp_audit as dp

features, labels = (part[:800] for part in load_digits(return_X_y=True))
data = TensorDataset(torch.tensor(features / 16).float(), torch.tensor(labels))
torch.manual_seed(0)
model = torch.nn.Linear(64, 10)
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
    data_loader=DataLoader(data, batch_size=40),
    noise_multiplier=4.0,
    max_grad_norm=1.0,
)
print(dp.audit_training(engine, model, optimizer, loader, epochs=2))

optimizer.add_noise = lambda: [
    setattr(p, "grad", p.summed_grad.clone().view_as(p)) for p in optimizer.params
]
print(dp.audit_training(engine, model, optimizer, loader, epochs=2))
