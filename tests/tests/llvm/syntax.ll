; Most of the syntax of LLVM 14's assembly.
source_filename = "syntax"
target datalayout = "e-p:64:64-i64:64-n8:16:32-A5"
target triple = "x86_64-unknown-linux-gnu"

module asm "nop"

%pair = type { i32, [2 x float] }
%packed = type <{ i8, i16 }>
%later = type opaque
%0 = type { %0*, i64 }

$group = comdat largest

@number = internal unnamed_addr constant i32 7, align 4
@text = private constant [3 x i8] c"a\00b", section ".text", align 1
@pair = weak_odr global %pair { i32 -1, [2 x float] [float 1.5e+00, float 0x7FF8000000000000] }, comdat($group)
@wide = global i128 -170141183460469231731687303715884105728
@floats = global <2 x half> <half 0xH3C00, half undef>
@thread = thread_local(initialexec) global [2 x i32] zeroinitializer
@pointer = global i8* getelementptr inbounds ([3 x i8], [3 x i8]* @text, i64 0, i64 1)
@block = global i8* blockaddress(@control, %next)
@external = external dso_local global i32, !md !0
@0 = global i32 add (i32 ptrtoint (i32* @number to i32), i32 1)
@alias = hidden alias i32, i32* @number

declare void @llvm.dbg.value(metadata, metadata, metadata)
declare i32 @printf(i8* nocapture readonly, ...) #1
declare i32 @personality(...)

define i32 @control(i32 %x, i32* noalias nocapture %p, %pair* byval(%pair) align 8 %q) #0 personality i32 (...)* @personality !md !1 {
entry:
  %y = add nuw nsw i32 %x, 1
  %f = sitofp i32 %y to float
  %g = fmul fast float %f, 2.0
  %c = fcmp olt float %g, 1.0e+01
  br i1 %c, label %next, label %other, !prof !2

next:
  %v = phi i32 [ %y, %entry ], [ %w, %next ]
  %w = sub i32 %v, 1
  switch i32 %w, label %other [
    i32 0, label %next
    i32 1, label %other
  ]

other:
  %a = alloca %pair, align 4, addrspace(5)
  %e = getelementptr inbounds %pair, %pair addrspace(5)* %a, i64 0, i32 1, i64 1
  store volatile float %g, float addrspace(5)* %e, align 4, !tbaa !3
  %l = load atomic i32, i32* %p syncscope("agent") acquire, align 4
  %n = atomicrmw add i32* %p, i32 1 seq_cst, align 4
  %s = cmpxchg weak i32* %p, i32 %l, i32 %n acq_rel monotonic, align 4
  %t = extractvalue { i32, i1 } %s, 0
  %u = insertvalue { i32, i1 } undef, i32 %t, 0
  fence release
  %i = insertelement <2 x i32> poison, i32 %t, i32 0
  %h = shufflevector <2 x i32> %i, <2 x i32> undef, <2 x i32> <i32 1, i32 undef>
  %j = extractelement <2 x i32> %h, i32 0
  %k = select i1 %c, i32 %j, i32 %t
  %m = freeze i32 %k
  %r = call i32 (i8*, ...) @printf(i8* getelementptr ([3 x i8], [3 x i8]* @text, i32 0, i32 0), i32 %m) #1 [ "deopt"(i32 1) ]
  call void @llvm.dbg.value(metadata i32 %r, metadata !4, metadata !DIExpression(DW_OP_plus_uconst, 1)), !dbg !7
  call void asm sideeffect "nop", "~{memory}"()
  %z = invoke i32 (...) @personality(i32 %m)
          to label %done unwind label %pad

pad:
  %lp = landingpad { i8*, i32 }
          cleanup
          catch i8* null
  resume { i8*, i32 } %lp

done:
  ret i32 %z
}

define void @1() {
  unreachable
}

attributes #0 = { nounwind uwtable "key"="value" "alone" }
attributes #1 = { nofree alignstack=16 }

!named = !{!0, !1}
!llvm.dbg.cu = !{!8}
!llvm.module.flags = !{!9}

!0 = !{!"a", i32 1, null, !1}
!1 = distinct !{!1, !0}
!2 = !{!"branch_weights", i32 1, i32 2}
!3 = !{!10, !10, i64 0}
!4 = !DILocalVariable(name: "v", scope: !5, file: !6, line: 3)
!5 = distinct !DISubprogram(name: "control", scope: !6, file: !6, line: 1, spFlags: DISPFlagDefinition, unit: !8)
!6 = !DIFile(filename: "a.c", directory: "/")
!7 = !DILocation(line: 3, column: 4, scope: !5)
!8 = distinct !DICompileUnit(language: DW_LANG_C99, file: !6, emissionKind: FullDebug)
!9 = !{i32 2, !"Debug Info Version", i32 3}
!10 = !{!"int", !11, i64 0}
!11 = !{!"root"}
