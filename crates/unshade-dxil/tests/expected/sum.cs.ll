target datalayout = "e-m:e-p:32:32-i1:32-i8:32-i16:32-i32:32-i64:64-f16:32-f32:32-f64:64-n8:16:32:64"
target triple = "dxil-ms-dx"

%dx.types.Handle = type { i8* }
%dx.types.CBufRet.i32 = type { i32, i32, i32, i32 }
%dx.types.ResRet.i32 = type { i32, i32, i32, i32, i32 }
%struct.ByteAddressBuffer = type { i32 }
%struct.RWByteAddressBuffer = type { i32 }
%hostlayout.Parameters = type { [1 x <4 x float>] }

@partial = external addrspace(3) global [64 x i32], align 4

define void @sum() {
  %1 = call i32 @dx.op.threadId.i32(i32 93, i32 0)  ; ThreadId(component)
  %2 = call i32 @dx.op.flattenedThreadIdInGroup.i32(i32 96)  ; FlattenedThreadIdInGroup()
  %3 = call i32 @dx.op.groupId.i32(i32 94, i32 0)  ; GroupId(component)
  %4 = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 2, i32 0, i32 0, i1 false)  ; CreateHandle(resourceClass,rangeId,index,nonUniformIndex)
  %5 = call %dx.types.CBufRet.i32 @dx.op.cbufferLoadLegacy.i32(i32 59, %dx.types.Handle %4, i32 0)  ; CBufferLoadLegacy(handle,regIndex)
  %6 = extractvalue %dx.types.CBufRet.i32 %5, 0
  %7 = extractvalue %dx.types.CBufRet.i32 %5, 1
  %8 = extractvalue %dx.types.CBufRet.i32 %5, 2
  %9 = extractvalue %dx.types.CBufRet.i32 %5, 3
  %10 = icmp ult i32 %1, %6
  %11 = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 0, i32 0, i32 0, i1 false)  ; CreateHandle(resourceClass,rangeId,index,nonUniformIndex)
  %12 = shl i32 %1, 2
  %13 = call %dx.types.ResRet.i32 @dx.op.bufferLoad.i32(i32 68, %dx.types.Handle %11, i32 %12, i32 undef)  ; BufferLoad(srv,index,wot)
  %14 = extractvalue %dx.types.ResRet.i32 %13, 0
  %15 = select i1 %10, i32 %14, i32 0
  %16 = getelementptr inbounds [64 x i32], [64 x i32] addrspace(3)* @partial, i32 0, i32 %2
  store i32 %15, i32 addrspace(3)* %16, align 4
  br label %head

head:                                             ; preds = %next, %0
  %17 = phi i32 [ 32, %0 ], [ %24, %next ]
  call void @dx.op.barrier(i32 80, i32 9)  ; Barrier(barrierMode)
  %18 = icmp ult i32 %2, %17
  br i1 %18, label %add, label %next

add:                                              ; preds = %head
  %19 = add i32 %2, %17
  %20 = getelementptr inbounds [64 x i32], [64 x i32] addrspace(3)* @partial, i32 0, i32 %19
  %21 = load i32, i32 addrspace(3)* %16, align 4
  %22 = load i32, i32 addrspace(3)* %20, align 4
  %23 = add i32 %21, %22
  store i32 %23, i32 addrspace(3)* %16, align 4
  br label %next

next:                                             ; preds = %add, %head
  %24 = lshr i32 %17, 1
  %25 = icmp ne i32 %24, 0
  br i1 %25, label %head, label %last

last:                                             ; preds = %next
  %26 = icmp eq i32 %2, 0
  br i1 %26, label %write, label %end

write:                                            ; preds = %last
  %27 = load i32, i32 addrspace(3)* %16, align 4
  %28 = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 1, i32 0, i32 0, i1 false)  ; CreateHandle(resourceClass,rangeId,index,nonUniformIndex)
  %29 = shl i32 %3, 2
  call void @dx.op.bufferStore.i32(i32 69, %dx.types.Handle %28, i32 %29, i32 undef, i32 %27, i32 undef, i32 undef, i32 undef, i8 1)  ; BufferStore(uav,coord0,coord1,value0,value1,value2,value3,mask)
  br label %end

end:                                              ; preds = %write, %last
  ret void
}

; Function Attrs: nounwind readnone
declare i32 @dx.op.threadId.i32(i32, i32) #0

; Function Attrs: nounwind readnone
declare i32 @dx.op.flattenedThreadIdInGroup.i32(i32) #0

; Function Attrs: nounwind readnone
declare i32 @dx.op.groupId.i32(i32, i32) #0

; Function Attrs: nounwind readonly
declare %dx.types.Handle @dx.op.createHandle(i32, i8, i32, i32, i1) #1

; Function Attrs: nounwind readonly
declare %dx.types.CBufRet.i32 @dx.op.cbufferLoadLegacy.i32(i32, %dx.types.Handle, i32) #1

; Function Attrs: nounwind readonly
declare %dx.types.ResRet.i32 @dx.op.bufferLoad.i32(i32, %dx.types.Handle, i32, i32) #1

; Function Attrs: noduplicate nounwind
declare void @dx.op.barrier(i32, i32) #2

; Function Attrs: nounwind
declare void @dx.op.bufferStore.i32(i32, %dx.types.Handle, i32, i32, i32, i32, i32, i32, i8) #3

attributes #0 = { nounwind readnone }
attributes #1 = { nounwind readonly }
attributes #2 = { noduplicate nounwind }
attributes #3 = { nounwind }

!llvm.ident = !{!0}
!dx.version = !{!1}
!dx.valver = !{!2}
!dx.shaderModel = !{!3}
!dx.resources = !{!4}
!dx.entryPoints = !{!11}

!0 = !{!"unshade 0.1.0"}
!1 = !{i32 1, i32 0}
!2 = !{i32 1, i32 8}
!3 = !{!"cs", i32 6, i32 0}
!4 = !{!5, !7, !9, null}
!5 = !{!6}
!6 = !{i32 0, %struct.ByteAddressBuffer* undef, !"data", i32 0, i32 0, i32 1, i32 11, i32 0, null}
!7 = !{!8}
!8 = !{i32 0, %struct.RWByteAddressBuffer* undef, !"sums", i32 0, i32 0, i32 1, i32 11, i1 false, i1 false, i1 false, null}
!9 = !{!10}
!10 = !{i32 0, %hostlayout.Parameters* undef, !"Parameters", i32 0, i32 0, i32 1, i32 4, null}
!11 = !{void ()* @sum, !"sum", null, !4, !12}
!12 = !{i32 0, i64 16, i32 4, !13}
!13 = !{i32 64, i32 1, i32 1}
