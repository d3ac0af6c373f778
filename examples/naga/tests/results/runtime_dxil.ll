; Operations of DXIL that return structs: their values are in registers as LLVM decides, so that C can't give them.
%loaded.i32 = type { i32, i32, i32, i32, i32 }
%loaded.f32 = type { float, float, float, float, i32 }
%row.i32 = type { i32, i32, i32, i32 }
%row.f32 = type { float, float, float, float }

declare i32* @dxil_words(i8*, i32)
declare i32 @dxil_size(i8*)

define %loaded.i32 @"dx.op.bufferLoad.i32"(i32, i8* %handle, i32 %at, i32) {
  %p = call i32* @dxil_words(i8* %handle, i32 %at)
  %q = bitcast i32* %p to %loaded.i32*
  %v = load %loaded.i32, %loaded.i32* %q, align 4
  ret %loaded.i32 %v
}

define %loaded.f32 @"dx.op.bufferLoad.f32"(i32, i8* %handle, i32 %at, i32) {
  %p = call i32* @dxil_words(i8* %handle, i32 %at)
  %q = bitcast i32* %p to %loaded.f32*
  %v = load %loaded.f32, %loaded.f32* %q, align 4
  ret %loaded.f32 %v
}

define %row.i32 @"dx.op.cbufferLoadLegacy.i32"(i32, i8* %handle, i32 %row) {
  %at = shl i32 %row, 4
  %p = call i32* @dxil_words(i8* %handle, i32 %at)
  %q = bitcast i32* %p to %row.i32*
  %v = load %row.i32, %row.i32* %q, align 4
  ret %row.i32 %v
}

define %row.f32 @"dx.op.cbufferLoadLegacy.f32"(i32, i8* %handle, i32 %row) {
  %at = shl i32 %row, 4
  %p = call i32* @dxil_words(i8* %handle, i32 %at)
  %q = bitcast i32* %p to %row.f32*
  %v = load %row.f32, %row.f32* %q, align 4
  ret %row.f32 %v
}

define %row.i32 @"dx.op.getDimensions"(i32, i8* %handle, i32) {
  %size = call i32 @dxil_size(i8* %handle)
  %v = insertvalue %row.i32 undef, i32 %size, 0
  ret %row.i32 %v
}
