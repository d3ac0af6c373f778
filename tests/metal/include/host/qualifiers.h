// Qualifiers of Metal. See base.h for why they are nothing on the host.
#pragma once

#define device
#define thread
#define threadgroup
#define threadgroup_imageblock
#define ray_data
#define object_data
#define constant const
#define coherent(scope)
#define kernel
#define vertex
#define fragment
// A variable of a threadgroup: groups run one after another, so that each has it to itself.
#define HOST_THREADGROUP_VARIABLE static
