// Compiles many HLSL files in one Windows process, with FXC or DXC: `compile.exe fxc|dxc LIBRARY JOBS FIRST`.
//
// LIBRARY is d3dcompiler_47.dll or dxcompiler.dll. JOBS is a text file with one job a line, fields separated by tabs:
//
//   SOURCE  OUTPUT  PROFILE  ENTRY  FLAGS  OPTION...
//
// FLAGS is the number of D3DCompile's Flags1. An OPTION is a macro as NAME=VALUE for FXC, or an argument for DXC. FIRST is
// the number of the first job to do. Before a job its number is printed, and after it `ok` or `fail`; the compiler's
// messages are in OUTPUT.txt. So the caller knows which job ends the process, and starts it again at the next one.

#include <windows.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using std::string;
using std::vector;
using std::wstring;

struct Blob : IUnknown {
    virtual void* STDMETHODCALLTYPE GetBufferPointer() = 0;
    virtual SIZE_T STDMETHODCALLTYPE GetBufferSize() = 0;
};

static string content(Blob* blob) {
    if (!blob) return {};
    string bytes(static_cast<const char*>(blob->GetBufferPointer()), blob->GetBufferSize());
    blob->Release();
    return bytes;
}

struct Job {
    string source, output, profile, entry;
    UINT flags = 0;
    vector<string> options;
};

struct Result {
    bool compiled = false;
    string object, messages;
};

class Compiler {
public:
    virtual ~Compiler() = default;
    virtual Result compile(const Job& job, const string& text) = 0;
};

class Fxc : public Compiler {
    struct Macro {
        const char *name, *definition;
    };
    using Function = HRESULT(WINAPI*)(const void*, SIZE_T, const char*, const Macro*, void*, const char*, const char*, UINT,
                                      UINT, Blob**, Blob**);
    Function function;

public:
    explicit Fxc(HMODULE library) : function(reinterpret_cast<Function>(GetProcAddress(library, "D3DCompile"))) {}

    Result compile(const Job& job, const string& text) override {
        // D3D_COMPILE_STANDARD_FILE_INCLUDE
        void* const includes = reinterpret_cast<void*>(1);
        vector<string> names, definitions;
        for (const string& option : job.options) {
            const size_t equals = option.find('=');
            names.push_back(option.substr(0, equals));
            definitions.push_back(equals == string::npos ? "1" : option.substr(equals + 1));
        }
        vector<Macro> macros;
        for (size_t i = 0; i < names.size(); ++i) macros.push_back({names[i].c_str(), definitions[i].c_str()});
        macros.push_back({nullptr, nullptr});
        Blob *object = nullptr, *messages = nullptr;
        const HRESULT status = function(text.data(), text.size(), job.source.c_str(), macros.data(), includes,
                                        job.entry.c_str(), job.profile.c_str(), job.flags, 0, &object, &messages);
        const bool compiled = SUCCEEDED(status) && object;
        return {compiled, content(object), content(messages)};
    }
};

class Dxc : public Compiler {
    struct Buffer {
        const void* data;
        SIZE_T size;
        UINT encoding;
    };
    struct Output : IUnknown {
        virtual HRESULT STDMETHODCALLTYPE GetStatus(HRESULT*) = 0;
        virtual HRESULT STDMETHODCALLTYPE GetResult(Blob**) = 0;
        virtual HRESULT STDMETHODCALLTYPE GetErrorBuffer(Blob**) = 0;
    };
    struct Compiler3 : IUnknown {
        virtual HRESULT STDMETHODCALLTYPE Compile(const Buffer*, const wchar_t**, UINT, void*, REFIID, void**) = 0;
        virtual HRESULT STDMETHODCALLTYPE Disassemble(const Buffer*, REFIID, void**) = 0;
    };
    struct Utils : IUnknown {
        virtual void unused0() = 0;
        virtual void unused1() = 0;
        virtual void unused2() = 0;
        virtual void unused3() = 0;
        virtual void unused4() = 0;
        virtual void unused5() = 0;
        virtual HRESULT STDMETHODCALLTYPE CreateDefaultIncludeHandler(void**) = 0;
    };
    using Create = HRESULT(STDAPICALLTYPE*)(REFCLSID, REFIID, void**);
    static constexpr UINT UTF8 = 65001;

    Compiler3* compiler = nullptr;
    void* includes = nullptr;

public:
    explicit Dxc(HMODULE library) {
        const GUID compilerClass = {0x73e22d93, 0xe6ce, 0x47f3, {0xb5, 0xbf, 0xf0, 0x66, 0x4f, 0x39, 0xc1, 0xb0}};
        const GUID compilerInterface = {0x228b4687, 0x5a6a, 0x4730, {0x90, 0x0c, 0x97, 0x02, 0xb2, 0x20, 0x3f, 0x54}};
        const GUID utilsClass = {0x6245d6af, 0x66e0, 0x48fd, {0x80, 0xb4, 0x4d, 0x27, 0x17, 0x96, 0x74, 0x8c}};
        const GUID utilsInterface = {0x4605c4cb, 0x2019, 0x492a, {0xad, 0xa4, 0x65, 0xf2, 0x0b, 0xb7, 0xd6, 0x7f}};
        const Create create = reinterpret_cast<Create>(GetProcAddress(library, "DxcCreateInstance"));
        Utils* utils = nullptr;
        create(compilerClass, compilerInterface, reinterpret_cast<void**>(&compiler));
        create(utilsClass, utilsInterface, reinterpret_cast<void**>(&utils));
        if (utils) utils->CreateDefaultIncludeHandler(&includes);
    }

    Result compile(const Job& job, const string& text) override {
        const GUID resultInterface = {0x58346cda, 0xdde7, 0x4497, {0x94, 0x61, 0x6f, 0x87, 0xaf, 0x5e, 0x06, 0x59}};
        vector<string> arguments = {job.source, "-T", job.profile};
        if (!job.entry.empty()) arguments.insert(arguments.end(), {"-E", job.entry});
        arguments.insert(arguments.end(), job.options.begin(), job.options.end());
        vector<wstring> wide;
        for (const string& argument : arguments) wide.emplace_back(argument.begin(), argument.end());
        vector<const wchar_t*> pointers;
        for (const wstring& argument : wide) pointers.push_back(argument.c_str());
        const Buffer source = {text.data(), text.size(), UTF8};
        Output* output = nullptr;
        HRESULT status = compiler->Compile(&source, pointers.data(), static_cast<UINT>(pointers.size()), includes,
                                           resultInterface, reinterpret_cast<void**>(&output));
        if (FAILED(status) || !output) return {false, {}, "error: the compiler gives no result"};
        output->GetStatus(&status);
        Blob *object = nullptr, *messages = nullptr;
        output->GetErrorBuffer(&messages);
        if (SUCCEEDED(status)) output->GetResult(&object);
        const bool compiled = SUCCEEDED(status) && object;
        Result result = {compiled, content(object), content(messages)};
        output->Release();
        return result;
    }
};

static string read(const string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

static void write(const string& path, const string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

static vector<string> fields(const string& line) {
    vector<string> found;
    for (size_t start = 0;;) {
        const size_t end = line.find('\t', start);
        found.push_back(line.substr(start, end - start));
        if (end == string::npos) return found;
        start = end + 1;
    }
}

int main(int count, char** arguments) {
    if (count != 5) return 2;
    const HMODULE library = LoadLibraryA(arguments[2]);
    if (!library) {
        std::printf("error: %s can't be loaded (%lu)\n", arguments[2], GetLastError());
        return 1;
    }
    Compiler* compiler = string(arguments[1]) == "fxc" ? static_cast<Compiler*>(new Fxc(library)) : new Dxc(library);
    std::ifstream jobs(arguments[3]);
    const int first = std::atoi(arguments[4]);
    string line;
    for (int number = 0; std::getline(jobs, line); ++number) {
        if (number < first) continue;
        const vector<string> parts = fields(line);
        Job job = {parts.at(0), parts.at(1), parts.at(2), parts.at(3), static_cast<UINT>(std::stoul(parts.at(4))),
                   {parts.begin() + 5, parts.end()}};
        std::printf("%d ", number);
        std::fflush(stdout);
        const Result result = compiler->compile(job, read(job.source));
        if (result.compiled) write(job.output, result.object);
        write(job.output + ".txt", result.messages);
        std::printf("%s\n", result.compiled ? "ok" : "fail");
        std::fflush(stdout);
    }
    std::puts("end");
    return 0;
}
