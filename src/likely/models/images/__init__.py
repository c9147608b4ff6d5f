"""Networks of images: CNN, ResNet, U-Net."""
