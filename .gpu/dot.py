import sys; sys.path.insert(0,'src')
import torch, foresolve
from foresolve.solvers import fused
p=foresolve.BipartiteMatching(50,50).to("cuda"); layer=foresolve.QuadraticRelaxation(.1)
th=torch.rand(1024,2500,dtype=torch.double,device="cuda",generator=torch.Generator("cuda").manual_seed(0)).requires_grad_(); v=torch.randn_like(th)
for w in (4,8,16):
    fused.WARPS=w
    for _ in range(3): layer(th,p).backward(v)
    torch.cuda.synchronize()
    a,b=torch.cuda.Event(enable_timing=True),torch.cuda.Event(enable_timing=True)
    a.record()
    for _ in range(10): layer(th,p).backward(v)
    b.record(); torch.cuda.synchronize(); print("warps",w,a.elapsed_time(b)/10,"ms", flush=True)
