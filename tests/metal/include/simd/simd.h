#pragma once
#include "../metal_stdlib"
namespace simd = metal;
