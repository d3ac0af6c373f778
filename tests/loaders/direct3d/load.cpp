// Hands the containers of `cargo xtask loader-files direct3d -o DIR` to Direct3D, on the software adapter (WARP):
//
//     cl /std:c++17 /EHsc /W4 tests\loaders\direct3d\load.cpp d3d11.lib d3d12.lib dxgi.lib d3dcompiler.lib
//     load.exe DIR
//
// Each line of DIR\manifest.tsv has the name of a file, its kind (a profile or `root_signature`) and `taken` or `refused`.
// Direct3D 11 creates a shader of each token program and D3DReflect reads it, Direct3D 12 creates a pipeline of each DXIL
// program for compute. Both compare the digest. Prints a line per file that is judged otherwise; exit status 1 if there is
// one, 2 if something is missing.

#include <d3d11.h>
#include <d3d11shader.h>
#include <d3d12.h>
#include <d3dcompiler.h>
#include <dxgi1_4.h>
#include <wrl/client.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using Microsoft::WRL::ComPtr;

namespace {

struct Devices {
    ComPtr<ID3D11Device> d3d11;
    ComPtr<ID3D12Device> d3d12;
    ComPtr<ID3D12RootSignature> everything;
};

// A root signature with all that a program may bind in space 0.
HRESULT make_root_signature(ID3D12Device* device, ComPtr<ID3D12RootSignature>& result) {
    D3D12_DESCRIPTOR_RANGE ranges[4] = {};
    D3D12_ROOT_PARAMETER parameters[4] = {};
    for (int i = 0; i < 4; ++i) {
        ranges[i].RangeType = static_cast<D3D12_DESCRIPTOR_RANGE_TYPE>(i);
        ranges[i].NumDescriptors = i == D3D12_DESCRIPTOR_RANGE_TYPE_CBV ? 14u : 16u;
        parameters[i].ParameterType = D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE;
        parameters[i].DescriptorTable = {1, &ranges[i]};
    }
    const D3D12_ROOT_SIGNATURE_DESC description = {4, parameters, 0, nullptr, D3D12_ROOT_SIGNATURE_FLAG_NONE};
    ComPtr<ID3DBlob> blob, errors;
    HRESULT status = D3D12SerializeRootSignature(&description, D3D_ROOT_SIGNATURE_VERSION_1, &blob, &errors);
    if (FAILED(status)) return status;
    return device->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), IID_PPV_ARGS(&result));
}

HRESULT make_devices(Devices& devices) {
    HRESULT status = D3D11CreateDevice(nullptr, D3D_DRIVER_TYPE_WARP, nullptr, 0, nullptr, 0, D3D11_SDK_VERSION,
                                       &devices.d3d11, nullptr, nullptr);
    if (FAILED(status)) return status;
    ComPtr<IDXGIFactory4> factory;
    status = CreateDXGIFactory1(IID_PPV_ARGS(&factory));
    if (FAILED(status)) return status;
    ComPtr<IDXGIAdapter> warp;
    status = factory->EnumWarpAdapter(IID_PPV_ARGS(&warp));
    if (FAILED(status)) return status;
    status = D3D12CreateDevice(warp.Get(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&devices.d3d12));
    if (FAILED(status)) return status;
    return make_root_signature(devices.d3d12.Get(), devices.everything);
}

HRESULT create_shader(ID3D11Device* device, const std::string& kind, const std::vector<char>& data) {
    const std::string stage = kind.substr(0, 2);
    if (stage == "cs") {
        ComPtr<ID3D11ComputeShader> shader;
        return device->CreateComputeShader(data.data(), data.size(), nullptr, &shader);
    }
    if (stage == "vs") {
        ComPtr<ID3D11VertexShader> shader;
        return device->CreateVertexShader(data.data(), data.size(), nullptr, &shader);
    }
    if (stage == "ps") {
        ComPtr<ID3D11PixelShader> shader;
        return device->CreatePixelShader(data.data(), data.size(), nullptr, &shader);
    }
    if (stage == "gs") {
        ComPtr<ID3D11GeometryShader> shader;
        return device->CreateGeometryShader(data.data(), data.size(), nullptr, &shader);
    }
    if (stage == "hs") {
        ComPtr<ID3D11HullShader> shader;
        return device->CreateHullShader(data.data(), data.size(), nullptr, &shader);
    }
    return E_NOTIMPL;
}

HRESULT hand_over(const Devices& devices, const std::string& kind, const std::vector<char>& data) {
    if (kind == "root_signature") {
        ComPtr<ID3D12RootSignature> signature;
        return devices.d3d12->CreateRootSignature(0, data.data(), data.size(), IID_PPV_ARGS(&signature));
    }
    if (kind.substr(3, 1) == "6") {
        D3D12_COMPUTE_PIPELINE_STATE_DESC description = {};
        description.pRootSignature = devices.everything.Get();
        description.CS = {data.data(), data.size()};
        ComPtr<ID3D12PipelineState> state;
        return devices.d3d12->CreateComputePipelineState(&description, IID_PPV_ARGS(&state));
    }
    const HRESULT status = create_shader(devices.d3d11.Get(), kind, data);
    if (FAILED(status)) return status;
    // Containers without RDEF have nothing to reflect, which is no fault.
    ComPtr<ID3D11ShaderReflection> reflection;
    D3D11_SHADER_DESC description = {};
    if (SUCCEEDED(D3DReflect(data.data(), data.size(), IID_PPV_ARGS(&reflection)))) {
        return reflection->GetDesc(&description);
    }
    return status;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::puts("usage: load DIR");
        return 2;
    }
    const std::string folder = std::string(arguments[1]) + "\\";
    std::ifstream manifest(folder + "manifest.tsv");
    Devices devices;
    const HRESULT made = make_devices(devices);
    if (!manifest || FAILED(made)) {
        std::printf("no manifest, or no software adapter (0x%08lx)\n", static_cast<unsigned long>(made));
        return 2;
    }
    int files = 0, wrong = 0;
    for (std::string line; std::getline(manifest, line);) {
        std::istringstream fields(line);
        std::string name, kind, expected;
        std::getline(fields, name, '\t');
        std::getline(fields, kind, '\t');
        std::getline(fields, expected, '\t');
        std::ifstream file(folder + name, std::ios::binary);
        const std::vector<char> data{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        const HRESULT status = hand_over(devices, kind, data);
        if (SUCCEEDED(status) != (expected == "taken")) {
            std::printf("%s (%s): expected %s, Direct3D says 0x%08lx\n", name.c_str(), kind.c_str(), expected.c_str(),
                        static_cast<unsigned long>(status));
            ++wrong;
        }
        ++files;
    }
    std::printf("%d containers, %d judged otherwise than expected\n", files, wrong);
    return wrong == 0 && files > 0 ? 0 : 1;
}
