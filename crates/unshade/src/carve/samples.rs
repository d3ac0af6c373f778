//! stub
pub(super) fn metallib() -> Vec<u8> {
    let mut library = vec![0; 92];
    library[..12].copy_from_slice(b"MTLB\x01\x80\x02\x00\x02\x00\x00\x00");
    library[16] = 92;
    library[24] = 88;
    for section in [40, 56, 72] {
        library[section] = 92;
    }
    library
}
pub(super) fn universal() -> Vec<u8> {
    let mut data = vec![0; 48];
    data[..8].copy_from_slice(&[0xcb, 0xfe, 0xba, 0xbe, 0, 0, 0, 1]);
    data[8..28].copy_from_slice(&[1, 0, 0, 0x17, 0, 0, 0, 0xc, 0, 0, 0, 48, 0, 0, 0, 92, 0, 0, 0, 4]);
    data.extend(metallib());
    data
}
