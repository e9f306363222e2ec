import sys; sys.path.insert(0,'src')
import torch, foresolve, time
p=foresolve.BipartiteMatching(50,50).to("cuda"); layer=foresolve.QuadraticRelaxation(.1)
th=torch.rand(1024,2500,dtype=torch.double,device="cuda",generator=torch.Generator("cuda").manual_seed(0)).requires_grad_(); v=torch.randn_like(th)
for _ in range(3): layer(th,p).backward(v)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA,torch.profiler.ProfilerActivity.CPU]) as pr:
    for _ in range(5): layer(th,p).backward(v)
    torch.cuda.synchronize()
print(pr.key_averages().table(sort_by="cuda_time_total",row_limit=28,max_name_column_width=60))
