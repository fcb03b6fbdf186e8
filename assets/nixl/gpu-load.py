# railbench: gpu-load
# Keeps the GPU busy with arithmetic for a moment, so that its clock, its power and
# what holds them back can be looked at meanwhile. Needs the driver and nothing else.
# with agent.py

# Multiplies and adds in registers: all of the GPU works, and nothing moves.
KERNEL = """
.version 6.3
.target sm_75
.address_size 64
.visible .entry busy(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p;
  .reg .f32 %a, %b, %c;
  .reg .u32 %i, %n;
  .reg .u64 %to;
  ld.param.u64 %to, [out];
  ld.param.u32 %n, [rounds];
  mov.u32 %i, 0;
  mov.f32 %a, 0f3F800000;
  mov.f32 %b, 0f3F800001;
  mov.f32 %c, 0f33D6BF95;
again:
  fma.rn.f32 %a, %a, %b, %c;
  fma.rn.f32 %c, %c, %b, %a;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra again;
  st.global.f32 [%to], %a;
  ret;
}
"""


def load(cuda, seconds):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(KERNEL.encode()))
    cuda.call("cuModuleGetFunction", ctypes.byref(function), module, b"busy")
    out, rounds = ctypes.c_uint64(cuda.alloc(4096)), ctypes.c_uint32(20000)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(out), ctypes.addressof(rounds))
    until, launches = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        cuda.call("cuLaunchKernel", function, 2048, 1, 1, 256, 1, 1, 0, None, arguments, None)
        cuda.call("cuCtxSynchronize")
        launches += 1
    cuda.call("cuMemFree_v2", out)
    return launches


parser = argparse.ArgumentParser()
parser.add_argument("--milliseconds", type=int, required=True)
a = parser.parse_args()
limit(10)
try:
    began = time.monotonic()
    launches = load(Cuda(), a.milliseconds / 1000)
    print(f"load: {launches} launches in {time.monotonic() - began:.2f} s", flush=True)
except Exception as e:
    print(f"load: none ({reason(e)})", flush=True)
leave(True)
