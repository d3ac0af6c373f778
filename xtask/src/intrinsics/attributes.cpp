// Prints the attributes that an LLVM library gives to the intrinsics whose names are on standard input, one per line.
// Each line of output has a name, the attributes of the function, of the result, and of each parameter, between tabs.
// Unknown names are not printed.
//
// The declarations are those of LLVM's headers, reduced to what is called, so that the headers are not needed.

#include <iostream>
#include <string>

extern "C" {
void *LLVMGetGlobalContext();
void *LLVMInt32Type();
void *LLVMFunctionType(void *result, void **parameters, unsigned count, int variadic);
unsigned LLVMLookupIntrinsicID(const char *name, size_t length);
}

namespace llvm {
class LLVMContext;
class FunctionType;

class AttributeList {
    void *list;

public:
    std::string getAsString(unsigned index, bool in_group = false) const;
};

namespace Intrinsic {
AttributeList getAttributes(LLVMContext &context, unsigned id, FunctionType *type);
}
} // namespace llvm

int main()
{
    const unsigned parameters = 32;
    void *types[parameters];
    for (void *&type : types)
        type = LLVMInt32Type();
    void *type = LLVMFunctionType(types[0], types, parameters, 0);
    auto &context = *static_cast<llvm::LLVMContext *>(LLVMGetGlobalContext());
    std::string name;
    while (std::getline(std::cin, name)) {
        unsigned id = LLVMLookupIntrinsicID(name.data(), name.size());
        if (id == 0)
            continue;
        auto list = llvm::Intrinsic::getAttributes(context, id, static_cast<llvm::FunctionType *>(type));
        // The last index is that of the function, index 0 that of the result.
        std::cout << name << '\t' << list.getAsString(-1u);
        for (unsigned index = 0; index <= parameters; index++)
            std::cout << '\t' << list.getAsString(index);
        std::cout << '\n';
    }
}
